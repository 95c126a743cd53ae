#include "engine/node/archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "engine/node/sys.h"

namespace cubeplane::engine::node {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kMaxNameBytes = 4096;

std::unexpected<Error> Refuse(std::string_view entry, std::string_view why) {
  return Fail(Code::kInvalid,
              "the code archive: '" + std::string(entry.substr(0, 200)) + "' " + std::string(why));
}

Result<std::string> Inflate(std::string_view gzipped) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return Fail(Code::kInternal, "zlib cannot start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzipped.data()));
  stream.avail_in = static_cast<uInt>(gzipped.size());
  // Headers and padding come on top of the files' bytes.
  const size_t bound = static_cast<size_t>(kMaxUnpackedBytes) + kMaxArchiveEntries * 2 * kBlock;
  std::string text;
  char buffer[65536];
  int status = Z_OK;
  while (status == Z_OK && text.size() <= bound) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(buffer, sizeof buffer - stream.avail_out);
  }
  inflateEnd(&stream);
  if (text.size() > bound) return Fail(Code::kInvalid, "the code archive unpacks to more than 64 MiB");
  if (status != Z_STREAM_END) return Fail(Code::kInvalid, "the code archive is not a whole gzip file");
  return text;
}

std::string Field(std::string_view header, size_t at, size_t size) {
  const std::string_view field = header.substr(at, size);
  return std::string(field.substr(0, field.find('\0')));
}

std::optional<int64_t> Octal(std::string_view header, size_t at, size_t size) {
  int64_t value = 0;
  for (const char c : header.substr(at, size)) {
    if (c == ' ' || c == '\0') continue;
    if (c < '0' || c > '7' || value > (INT64_MAX >> 3)) return std::nullopt;
    value = value * 8 + (c - '0');
  }
  return value;
}

bool ChecksumHolds(std::string_view header) {
  int64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  return Octal(header, 148, 8) == sum;
}

// "./a//b/" → "a/b"; nullopt when it is absolute or leaves the folder.
std::optional<std::string> CleanName(std::string_view name) {
  if (name.starts_with('/') || name.size() > kMaxNameBytes) return std::nullopt;
  std::string clean;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('/'));
    name.remove_prefix(std::min(name.size(), part.size() + 1));
    if (part.empty() || part == ".") continue;
    if (part == "..") return std::nullopt;
    if (!clean.empty()) clean += '/';
    clean += part;
  }
  return clean;
}

// A link's target stays inside: relative, and never more ".." than folders above the link.
bool LinkStaysInside(std::string_view link, std::string_view target) {
  if (target.empty() || target.starts_with('/')) return false;
  int64_t depth = std::count(link.begin(), link.end(), '/');
  while (!target.empty()) {
    const std::string_view part = target.substr(0, target.find('/'));
    target.remove_prefix(std::min(target.size(), part.size() + 1));
    if (part.empty() || part == ".") continue;
    depth += part == ".." ? -1 : 1;
    if (depth < 0) return false;
  }
  return true;
}

class Unpacker {
 public:
  Unpacker(std::string_view tar, int dir) : tar_(tar), dir_(dir) {}

  Result<void> Run() {
    while (tar_.size() >= kBlock) {
      const std::string_view header = tar_.substr(0, kBlock);
      if (header.find_first_not_of('\0') == header.npos) return {};
      tar_.remove_prefix(kBlock);
      RETURN_IF_ERROR(Entry(header));
    }
    return Fail(Code::kInvalid, "the code archive ends early");
  }

 private:
  Result<void> Entry(std::string_view header) {
    std::string name = Field(header, 0, 100);
    if (!ChecksumHolds(header)) return Refuse(name, "has a damaged header");
    const auto size = Octal(header, 124, 12);
    const auto mode = Octal(header, 100, 8);
    if (!size || !mode || static_cast<uint64_t>(*size) > tar_.size())
      return Refuse(name, "has a size beyond the archive");
    const std::string_view body = tar_.substr(0, static_cast<size_t>(*size));
    tar_.remove_prefix(std::min(tar_.size(), (body.size() + kBlock - 1) / kBlock * kBlock));
    if (++entries_ > kMaxArchiveEntries) return Refuse(name, "is one entry too many: at most 20000");

    const char type = header[156];
    if (type == 'L' || type == 'K') {  // GNU: the name, or link target, of the next entry
      (type == 'L' ? next_name_ : next_link_) = std::string(body.substr(0, body.find('\0')));
      return {};
    }
    if (type == 'x') return Extended(body);
    if (type == 'g') return {};
    std::string link = Field(header, 157, 100);
    if (header.substr(257, 5) == "ustar" && header[345] != '\0') name = Field(header, 345, 155) + "/" + name;
    if (next_name_) name = *std::exchange(next_name_, std::nullopt);
    if (next_link_) link = *std::exchange(next_link_, std::nullopt);
    const auto clean = CleanName(name);
    if (!clean) return Refuse(name, "leads out of the folder: only relative paths without '..' are allowed");
    return Put(*clean, type, link, body, (*mode & 0111) != 0);
  }

  // POSIX extended header: "<length> <key>=<value>\n" records.
  Result<void> Extended(std::string_view body) {
    while (!body.empty()) {
      const size_t blank = body.find(' ');
      const size_t length =
          static_cast<size_t>(strtoul(std::string(body.substr(0, 20)).c_str(), nullptr, 10));
      if (blank == body.npos || length <= blank + 1 || length > body.size()) {
        return Refuse("(extended header)", "is damaged");
      }
      const std::string_view record = body.substr(blank + 1, length - blank - 2);
      body.remove_prefix(length);
      if (record.starts_with("path=")) next_name_ = std::string(record.substr(5));
      if (record.starts_with("linkpath=")) next_link_ = std::string(record.substr(9));
    }
    return {};
  }

  Result<void> Put(const std::string& name, char type, const std::string& link, std::string_view body,
                   bool executable) {
    if (name.empty()) return {};
    if (type == '5') return Folder(name);
    const size_t slash = name.rfind('/');
    const std::string parent = slash == std::string::npos ? "" : name.substr(0, slash);
    const std::string leaf = slash == std::string::npos ? name : name.substr(slash + 1);
    RETURN_IF_ERROR(Folder(parent));
    ASSIGN_OR_RETURN(const Fd folder, OpenBeneath(dir_, parent, O_RDONLY | O_DIRECTORY));
    if (type == '2') {
      if (!LinkStaysInside(name, link)) return Refuse(name, "is a link that leads out of the folder");
      if (symlinkat(link.c_str(), folder.get(), leaf.c_str()) != 0) return Refuse(name, "appears twice");
      return {};
    }
    if (type != '0' && type != '\0') return Refuse(name, "is neither file, folder nor symbolic link");
    unpacked_ += static_cast<int64_t>(body.size());
    if (unpacked_ > kMaxUnpackedBytes) return Refuse(name, "goes beyond 64 MiB unpacked");
    const mode_t mode = executable ? 0755 : 0644;
    auto file = OpenBeneath(folder.get(), leaf, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (!file)
      return errno == EEXIST ? Refuse(name, "appears twice") : Fail(file.error().Wrap("unpacking code"));
    if (auto written = WriteAll(file->get(), body); !written)
      return Fail(written.error().Wrap("unpacking " + name));
    if (fchmod(file->get(), mode) != 0) return Fail(SysError("unpacking " + name));
    return {};
  }

  Result<void> Folder(const std::string& name) {
    auto made = MakeDirsBeneath(dir_, name, 0755);
    if (!made && made.error().code == Code::kStoreFull) return Fail(made.error());
    if (!made) return Refuse(name, "cannot be a folder: a link or file stands there");
    return {};
  }

  std::string_view tar_;
  int dir_;
  int entries_ = 0;
  int64_t unpacked_ = 0;
  std::optional<std::string> next_name_, next_link_;
};

}  // namespace

Result<void> UnpackArchive(std::string_view gzipped_tar, int dir) {
  ASSIGN_OR_RETURN(const std::string tar, Inflate(gzipped_tar));
  return Unpacker(tar, dir).Run();
}

}  // namespace cubeplane::engine::node
