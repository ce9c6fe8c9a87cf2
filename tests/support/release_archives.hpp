// Archives of releases for tests, good ones and others, put together byte by byte. For fuzz targets, too: it
// needs no test framework.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

namespace release::testing {

inline std::string octal(std::uint64_t number, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*llo", digits, static_cast<unsigned long long>(number));
  return text;
}

struct TarHeader {
  std::string name;
  char type = '0';
  std::string mode = "0000644";
  std::string size = "";  // empty: that of the content
  std::string link = "";
  std::string magic = std::string("ustar\00000", 8);
  std::string prefix = "";
  bool right_checksum = true;
  std::string uid = "0000000", gid = "0000000";
};

inline std::string tar_entry(const TarHeader& header, const std::string& content = "") {
  std::string block(512, '\0');
  const auto put = [&](std::size_t at, std::string_view text) { block.replace(at, text.size(), text); };
  put(0, header.name);
  put(100, header.mode);
  put(108, header.uid);
  put(116, header.gid);
  put(124, header.size.empty() ? octal(content.size(), 11) : header.size);
  put(136, "00000000000");
  put(148, "        ");
  block[156] = header.type;
  put(157, header.link);
  put(257, header.magic);
  put(345, header.prefix);
  unsigned sum = header.right_checksum ? 0 : 1;
  for (const char c : block)
    sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6) + std::string(1, '\0') + " ");
  return block + content + std::string((512 - content.size() % 512) % 512, '\0');
}

inline std::string tar_folder(const std::string& name) {
  return tar_entry({.name = name + "/", .type = '5', .mode = "0000755"});
}

inline std::string tar_file(const std::string& name, const std::string& content, bool executable = false) {
  return tar_entry({.name = name, .mode = executable ? "0000755" : "0000644"}, content);
}

inline std::string tar_end() {
  return std::string(1024, '\0');
}

inline std::string gzipped(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib cannot be used");
  std::string out(deflateBound(&stream, static_cast<unsigned long>(bytes.size())) + 64, '\0');
  std::string copy(bytes);
  stream.next_in = reinterpret_cast<unsigned char*>(copy.data());
  stream.avail_in = static_cast<unsigned>(copy.size());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("zlib does not come to an end");
  return out;
}

}  // namespace release::testing
