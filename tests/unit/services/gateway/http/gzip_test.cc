#include <gtest/gtest.h>
#include <zlib.h>

#include "services/gateway/http/message.h"

namespace galen::gateway::http {
namespace {

std::string Unpack(std::string packed) {
  z_stream stream{};
  inflateInit2(&stream, MAX_WBITS + 16);
  std::string plain(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_out = static_cast<uInt>(plain.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  plain.resize(plain.size() - stream.avail_out);
  inflateEnd(&stream);
  return plain;
}

TEST(Gzip, CanBeUnpackedAgain) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "node" + std::to_string(i);
  const auto packed = Gzip(text);
  ASSERT_TRUE(packed.has_value());
  EXPECT_LT(packed->size(), text.size() / 2);
  EXPECT_EQ(Unpack(*packed), text);
}

TEST(Gzip, OfWhatCannotBeCompressedIsNothing) {
  EXPECT_EQ(Gzip("x"), std::nullopt);
  EXPECT_EQ(Gzip(""), std::nullopt);
  EXPECT_EQ(Gzip(*Gzip(std::string(1000, 'a'))), std::nullopt);
}

TEST(Gzip, IsTakenByThoseWhoSaySo) {
  for (const char* yes : {"gzip", "deflate, gzip;q=0.5", "GZIP", "*", "br;q=1, *;q=0.1",
                          "identity;q=0.2 , gzip ; q=1"}) {
    EXPECT_TRUE(AcceptsGzip(yes)) << yes;
  }
  for (const char* no :
       {"", "identity", "gzip;q=0", "*, gzip;q=0.0", "*;q=0", "gzip;q=x", "xgzip"}) {
    EXPECT_FALSE(AcceptsGzip(no)) << no;
  }
}

}  // namespace
}  // namespace galen::gateway::http
