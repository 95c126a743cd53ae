#include "cli/archive.h"

#include <fnmatch.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "cli/files.h"

namespace cubeplane::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBuiltIn = ".git/\n__pycache__/\n*.pyc\n.ipynb_checkpoints/\n.venv/\n.DS_Store\n";
constexpr size_t kBlock = 512;
constexpr size_t kNamedInError = 3;

struct Entry {
  std::string path;  // relative
  fs::path place;
  bool folder = false, executable = false;
  size_t size = 0;
};

void Octal(char* field, size_t width, size_t value) {
  snprintf(field, width, "%0*lo", static_cast<int>(width - 1), static_cast<unsigned long>(value));
}

// A ustar header; owner, group and time are left at zero, so that the same content gives the same archive.
Result<std::string> TarHeader(const Entry& entry) {
  std::string path = entry.path + (entry.folder ? "/" : "");
  std::string prefix;
  if (path.size() > 100) {
    const size_t cut = path.rfind('/', 154);
    if (cut == std::string::npos || path.size() - cut - 1 > 100 || path.size() == cut + 1) {
      return Fail(Code::kInvalid, entry.path + ": the path is too long for an archive (at most 255 bytes)");
    }
    prefix = path.substr(0, cut);
    path = path.substr(cut + 1);
  }
  char block[kBlock] = {};
  memcpy(block, path.data(), path.size());
  Octal(block + 100, 8, entry.folder || entry.executable ? 0755 : 0644);
  Octal(block + 108, 8, 0);
  Octal(block + 116, 8, 0);
  Octal(block + 124, 12, entry.folder ? 0 : entry.size);
  Octal(block + 136, 12, 0);
  block[156] = entry.folder ? '5' : '0';
  memcpy(block + 257, "ustar\00000", 8);
  memcpy(block + 345, prefix.data(), prefix.size());
  memset(block + 148, ' ', 8);
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  snprintf(block + 148, 8, "%06o", sum);
  return std::string(block, kBlock);
}

Result<std::string> Gzip(const std::string& plain) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
    return Fail(Code::kInternal, "zlib could not start");
  }
  std::string out(deflateBound(&stream, plain.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) return Fail(Code::kInternal, "zlib could not pack");
  return out;
}

Result<> Collect(const fs::path& root, const std::string& below, const IgnoreRules& rules,
                 std::vector<Entry>& entries) {
  std::error_code error;
  for (fs::directory_iterator it(root / below, error), end; !error && it != end; it.increment(error)) {
    const std::string path =
        below.empty() ? it->path().filename().string() : below + "/" + it->path().filename().string();
    struct stat info{};
    if (lstat(it->path().c_str(), &info) != 0)
      return Fail(Code::kInvalid, path + ": " + std::strerror(errno));
    const bool folder = S_ISDIR(info.st_mode);
    if (rules.Ignores(path, folder)) continue;
    if (S_ISLNK(info.st_mode)) {
      return Fail(Code::kInvalid,
                  path + " is a symbolic link; put the file itself there, or name it in " + kIgnoreFile);
    }
    if (!folder && !S_ISREG(info.st_mode)) {
      return Fail(Code::kInvalid, path + " is neither a file nor a folder; name it in " + kIgnoreFile);
    }
    entries.push_back(
        {path, it->path(), folder, (info.st_mode & S_IXUSR) != 0, static_cast<size_t>(info.st_size)});
    if (entries.size() > kMaxFiles) {
      return Fail(Code::kTooLarge, "more than " + std::to_string(kMaxFiles) +
                                       " files; name what the job does not need in " + kIgnoreFile);
    }
    if (folder) RETURN_IF_ERROR(Collect(root, path, rules, entries));
  }
  if (error) return Fail(Code::kInvalid, (root / below).string() + ": " + error.message());
  return {};
}

std::string Largest(std::vector<Entry> entries) {
  std::ranges::sort(entries, std::greater(), &Entry::size);
  std::string names;
  for (size_t i = 0; i < std::min(kNamedInError, entries.size()); ++i) {
    names += (i == 0 ? "" : ", ") + entries[i].path + " (" + std::to_string(entries[i].size >> 10) + " KiB)";
  }
  return names;
}

}  // namespace

IgnoreRules::IgnoreRules(std::string_view text) {
  std::stringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    Rule rule;
    if (line[0] == '!') rule.keep = true, line.erase(0, 1);
    if (!line.empty() && line.back() == '/') rule.folders_only = true, line.pop_back();
    rule.anchored = line.find('/') != std::string::npos;
    if (!line.empty() && line[0] == '/') line.erase(0, 1);
    rule.pattern = line;
    if (!line.empty()) rules_.push_back(std::move(rule));
  }
}

bool IgnoreRules::Ignores(const std::string& path, bool folder) const {
  const std::string name = path.substr(path.rfind('/') + 1);
  bool ignored = false;
  for (const Rule& rule : rules_) {
    if (rule.folders_only && !folder) continue;
    // With `**`, `*` may cross folders; a little more than git ignores then, never less.
    const int flags = rule.pattern.find("**") == std::string::npos ? FNM_PATHNAME : 0;
    const std::string& against = rule.anchored ? path : name;
    if (fnmatch(rule.pattern.c_str(), against.c_str(), flags) == 0) ignored = !rule.keep;
  }
  return ignored;
}

Result<Packed> PackFolder(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return Fail(Code::kNotFound, folder + " is not a folder");
  std::string rules_text(kBuiltIn);
  const std::string ignore_file = folder + "/" + kIgnoreFile;
  if (fs::exists(ignore_file, error)) {
    ASSIGN_OR_RETURN(const std::string own, ReadFile(ignore_file, 64 << 10));
    rules_text += own;
  }
  std::vector<Entry> entries;
  RETURN_IF_ERROR(Collect(folder, "", IgnoreRules(rules_text), entries));
  std::ranges::sort(entries, {}, &Entry::path);

  Packed packed;
  std::string tar;
  for (const Entry& entry : entries) {
    std::string content;
    Entry now = entry;
    if (!entry.folder) {
      ASSIGN_OR_RETURN(content, ReadFile(entry.place.string(), kMaxUnpacked));
      now.size = content.size();
      ++packed.files;
      packed.bytes += content.size();
    }
    if (packed.bytes > kMaxUnpacked) {
      return Fail(Code::kTooLarge, folder + " holds more than 64 MiB; largest: " + Largest(entries));
    }
    ASSIGN_OR_RETURN(const std::string header, TarHeader(now));
    tar += header;
    tar += content;
    tar.append((kBlock - content.size() % kBlock) % kBlock, '\0');
  }
  tar.append(2 * kBlock, '\0');
  ASSIGN_OR_RETURN(packed.archive, Gzip(tar));
  if (packed.archive.size() > kMaxArchive) {
    return Fail(Code::kTooLarge, folder + " is " + std::to_string(packed.archive.size() >> 10) +
                                     " KiB packed, at most 700 KiB are taken; largest: " + Largest(entries) +
                                     "; name what the job does not need in " + kIgnoreFile +
                                     ", or put it under /data");
  }
  return packed;
}

}  // namespace cubeplane::cli
