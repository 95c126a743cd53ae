// JSON text into a Value, through Boost.JSON's event parser: no second tree is built.
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>

#include "json/builder.h"
#include "json/json.h"

namespace cubeplane::json {
namespace {

namespace bj = boost::json;

// What basic_parser calls. A false answer, with `error` set, ends the parse.
class Events {
 public:
  constexpr static std::size_t max_object_size = SIZE_MAX;
  constexpr static std::size_t max_array_size = SIZE_MAX;
  constexpr static std::size_t max_key_size = SIZE_MAX;
  constexpr static std::size_t max_string_size = SIZE_MAX;

  explicit Events(const Limits& limits) : builder(limits) {}

  bool on_document_begin(bj::error_code&) { return true; }
  bool on_document_end(bj::error_code&) { return true; }
  bool on_object_begin(bj::error_code& error) { return Check(builder.OpenObject(), error); }
  bool on_object_end(std::size_t, bj::error_code& error) { return Check(builder.Close(), error); }
  bool on_array_begin(bj::error_code& error) { return Check(builder.OpenArray(), error); }
  bool on_array_end(std::size_t, bj::error_code& error) { return Check(builder.Close(), error); }
  bool on_key_part(bj::string_view part, std::size_t, bj::error_code&) { return Part(part); }
  bool on_key(bj::string_view part, std::size_t, bj::error_code& error) {
    Part(part);
    return Check(builder.Key(std::exchange(text_, {})), error);
  }
  bool on_string_part(bj::string_view part, std::size_t, bj::error_code&) { return Part(part); }
  bool on_string(bj::string_view part, std::size_t, bj::error_code& error) {
    Part(part);
    return Check(builder.Add(std::exchange(text_, {})), error);
  }
  bool on_number_part(bj::string_view, bj::error_code&) { return true; }
  bool on_int64(int64_t value, bj::string_view, bj::error_code& error) {
    return Check(builder.Add(value), error);
  }
  bool on_uint64(uint64_t value, bj::string_view, bj::error_code& error) {
    return Check(builder.Add(value), error);
  }
  bool on_double(double, bj::string_view digits, bj::error_code& error) {
    // Boost 1.81 rounds in the last place; the digits are read again exactly.
    double value = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (problem != std::errc() || !std::isfinite(value)) {
      out_of_range = true;
      error = bj::error::exponent_overflow;
      return false;
    }
    return Check(builder.Add(value), error);
  }
  bool on_bool(bool value, bj::error_code& error) { return Check(builder.Add(value), error); }
  bool on_null(bj::error_code& error) { return Check(builder.Add(Value()), error); }
  bool on_comment_part(bj::string_view, bj::error_code&) { return true; }
  bool on_comment(bj::string_view, bj::error_code&) { return true; }

  Builder builder;
  bool out_of_range = false;

 private:
  bool Part(bj::string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }
  static bool Check(bool fine, bj::error_code& error) {
    if (!fine) error = bj::error::array_too_large;
    return fine;
  }

  std::string text_;
};

Error At(std::string_view text, size_t offset, Code code, const std::string& what) {
  const Place place = PlaceOf(text, offset);
  Error error(code, "JSON at line " + std::to_string(place.line) + ", column " +
                        std::to_string(place.column) + " (byte " + std::to_string(offset) + "): " + what);
  error.params = {{"line", std::to_string(place.line)}, {"column", std::to_string(place.column)}};
  return error;
}

std::string Explain(const Events& events, const bj::error_code& error) {
  if (!events.builder.problem().empty()) return events.builder.problem();
  if (events.out_of_range) return "the number is too large";
  if (error == bj::error::incomplete) return "the text ends too early";
  if (error == bj::error::extra_data) return "more text after the end of the value";
  return error.message();
}

}  // namespace

Result<Value> Parse(std::string_view text, const Limits& limits) {
  if (text.size() > limits.max_bytes) {
    return Fail(Code::kTooLarge, "JSON of " + std::to_string(text.size()) + " bytes; at most " +
                                     std::to_string(limits.max_bytes) + " are read");
  }
  bj::parse_options options;
  options.max_depth = limits.max_depth + 1;  // the builder holds the limit itself
  bj::basic_parser<Events> parser(options, limits);
  bj::error_code error;
  size_t used = parser.write_some(false, text.data(), text.size(), error);
  if (!error && used < text.size()) error = bj::error::extra_data;
  if (error) {
    const Events& events = parser.handler();
    const Code code = events.builder.too_large() ? Code::kTooLarge : Code::kBadRequest;
    return Fail(At(text, std::min(used, text.size()), code, Explain(events, error)));
  }
  return parser.handler().builder.Take();
}

}  // namespace cubeplane::json
