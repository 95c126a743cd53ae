// The body type of our Beast parsers: a string that may be taken away between two reads. Private to this
// folder.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/optional.hpp>
#include <string>

namespace cubeplane::http {

// Unlike Beast's string_body it reserves nothing on the word of the sender.
struct PieceBody {
  using value_type = std::string;
  class reader {
   public:
    template <bool kRequest, class Fields>
    reader(boost::beast::http::header<kRequest, Fields>&, value_type& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>&, boost::system::error_code& error) { error = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      std::size_t total = 0;
      for (const auto buffer : boost::beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
        total += buffer.size();
      }
      return total;
    }
    void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

}  // namespace cubeplane::http
