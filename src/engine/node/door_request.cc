#include "engine/node/door_request.h"

#include <algorithm>
#include <vector>

namespace cubeplane::engine::node {
namespace {

constexpr size_t kMaxChunkLine = 256;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Takes the same time wherever the texts differ.
bool SameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

bool HasToken(std::string_view list, std::string_view token) {
  const std::string lower = Lower(list);
  std::string_view rest = lower;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (Trim(part) == token) return true;
  }
  return false;
}

struct Head {
  std::string_view request_line;
  std::vector<std::pair<std::string, std::string_view>> fields;  // lower-case name, line as it came
  std::vector<std::string_view> values;
};

Result<Head> Split(std::string_view text) {
  Head head;
  while (text != "\r\n") {
    const size_t end = text.find("\r\n");
    if (end == text.npos) return Fail(Code::kBadRequest, "the request's head does not end");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 2);
    if (line.find_first_of(std::string_view("\r\n\0", 3)) != line.npos) {
      return Fail(Code::kBadRequest, "a header line holds a control character");
    }
    if (head.request_line.empty()) {
      if (std::count(line.begin(), line.end(), ' ') != 2 ||
          !line.substr(line.rfind(' ')).starts_with(" HTTP/1.")) {
        return Fail(Code::kBadRequest, "not an HTTP/1 request");
      }
      head.request_line = line;
      continue;
    }
    const size_t colon = line.find(':');
    if (colon == line.npos || colon == 0) return Fail(Code::kBadRequest, "a header line without a name");
    const std::string_view name = line.substr(0, colon);
    if (name.find_first_of(" \t") != name.npos)
      return Fail(Code::kBadRequest, "a folded or padded header line");
    head.fields.emplace_back(Lower(name), line);
    head.values.push_back(Trim(line.substr(colon + 1)));
  }
  if (head.request_line.empty()) return Fail(Code::kBadRequest, "an empty request");
  return head;
}

Result<int64_t> Length(std::string_view text) {
  int64_t value = 0;
  if (text.empty() || text.size() > 18) return Fail(Code::kBadRequest, "a bad Content-Length");
  for (const char c : text) {
    if (c < '0' || c > '9') return Fail(Code::kBadRequest, "a bad Content-Length");
    value = value * 10 + (c - '0');
  }
  return value;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The size of a chunk from its line, without extensions; -1 when damaged.
int64_t ChunkSize(std::string_view line) {
  line = Trim(line.substr(0, line.find(';')));
  if (line.empty() || line.size() > 15) return -1;
  int64_t size = 0;
  for (const char c : line) {
    if (HexDigit(c) < 0) return -1;
    size = size * 16 + HexDigit(c);
  }
  return size;
}

}  // namespace

Result<CheckedHead> CheckHead(std::string_view text, std::string_view secret) {
  ASSIGN_OR_RETURN(const Head head, Split(text));
  CheckedHead checked;
  checked.forward = std::string(head.request_line) + "\r\n";
  int secrets = 0, lengths = 0;
  bool right = false, chunked = false, connection_upgrade = false, upgrade = false;
  for (size_t i = 0; i < head.fields.size(); ++i) {
    const auto& [name, line] = head.fields[i];
    const std::string_view value = head.values[i];
    if (name == kDoorHeader) {
      ++secrets;
      right = SameSecret(value, secret);
      continue;
    }
    if (name == "connection") {
      connection_upgrade = connection_upgrade || HasToken(value, "upgrade");
      continue;
    }
    if (name == "keep-alive" || name == "proxy-connection") continue;
    if (name == "content-length") {
      ++lengths;
      ASSIGN_OR_RETURN(checked.length, Length(value));
    }
    if (name == "transfer-encoding") {
      if (chunked || Lower(value) != "chunked")
        return Fail(Code::kBadRequest, "an unknown Transfer-Encoding");
      chunked = true;
    }
    if (name == "upgrade") upgrade = true;
    checked.forward.append(line).append("\r\n");
  }
  if (secrets != 1 || !right)
    return Fail(Code::kForbidden, "this door opens with the workload's secret only");
  if (lengths > 1 || (lengths == 1 && chunked))
    return Fail(Code::kBadRequest, "more than one length of the body");
  const bool tunnel = connection_upgrade && upgrade;
  if (tunnel) {
    checked.body = BodyKind::kTunnel;
  } else if (chunked) {
    checked.body = BodyKind::kChunked;
  } else if (checked.length > 0) {
    checked.body = BodyKind::kLength;
  }
  checked.forward += tunnel ? "Connection: Upgrade\r\n\r\n" : "Connection: close\r\n\r\n";
  return checked;
}

BodyMeter::BodyMeter(const CheckedHead& head)
    : kind_(head.body), left_(head.length), done_(head.body == BodyKind::kNone) {}

size_t BodyMeter::Take(std::string_view bytes) {
  if (done_) return 0;
  if (kind_ == BodyKind::kTunnel) return bytes.size();
  if (kind_ == BodyKind::kChunked) return TakeChunked(bytes);
  const size_t taken = std::min(bytes.size(), static_cast<size_t>(left_));
  left_ -= static_cast<int64_t>(taken);
  done_ = left_ == 0;
  return taken;
}

size_t BodyMeter::TakeChunked(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size() && !done_) {
    if (part_ == Part::kData) {
      const size_t some = std::min(bytes.size() - at, static_cast<size_t>(left_));
      at += some;
      left_ -= static_cast<int64_t>(some);
      if (left_ == 0) part_ = Part::kDataEnd;
      continue;
    }
    const char c = bytes[at++];
    if (c != '\n') {
      if (line_.size() >= kMaxChunkLine) done_ = true;
      line_ += c;
      continue;
    }
    std::string line = std::exchange(line_, "");
    if (!line.ends_with('\r')) {
      done_ = true;
      break;
    }
    line.pop_back();
    if (part_ == Part::kSize) {
      left_ = ChunkSize(line);
      done_ = left_ < 0;
      part_ = left_ == 0 ? Part::kTrailer : Part::kData;
    } else if (part_ == Part::kDataEnd) {
      done_ = !line.empty();
      part_ = Part::kSize;
    } else {
      done_ = line.empty();
    }
  }
  return at;
}

}  // namespace cubeplane::engine::node
