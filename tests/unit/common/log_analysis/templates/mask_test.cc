#include "common/log_analysis/templates/mask.h"

#include <string>

#include "common/log_analysis/templates/shape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::log_templates {
namespace {

std::string Masked(absl::string_view token) {
  char out[kMostMasked];
  return {out, MaskToken(token, out)};
}

TEST(MaskToken, MasksWhatChangesAndNothingElse) {
  const struct {
    const char* token;
    const char* masked;
  } kTable[] = {
      {"epoch", "epoch"},
      {"dead", "dead"},
      {"12", "<*>"},
      {"-12", "<*>"},
      {"1,234.5", "<*>"},
      {"1.5e-05", "<*>"},
      {"100%", "<*>%"},
      {"0x7fc0ea4a2338", "<*>"},
      {"0xnothing", "<*>xnothing"},
      {"10.0.3.17", "<*>"},
      {"10.0.3.17:29500", "<*>"},
      {"[fe80::1%eth0]:80", "[<*>%eth<*>]:<*>"},
      {"2021-05-23", "<*>"},
      {"08:45:57,123", "<*>"},
      {"2021-05-23T08:45:57.1Z", "<*>T<*>Z"},
      {"0000:3b:00.0:", "<*>:"},
      {"b8:ce:f6:aa:bb:cc", "<*>"},
      {"123e4567-e89b-12d3-a456-426614174000", "<*>"},
      {"rank3:", "rank<*>:"},
      {"mlx5_0", "mlx<*>"},
      {"vm-07-05:", "vm-<*>:"},
      {"12ms", "<*>ms"},
      {"blk_-1608999687919862906", "blk_-<*>"},
      {"lr=-0.5,", "lr=<*>,"},
      {"/usr/lib/x.so.1:", "<*>:"},
      {"(/usr/lib/x.so)", "(<*>)"},
      {"and/or", "and/or"},
      {"/", "/"},
      {"https://a.example/b?c=d#e", "https:<*>"},
      {"..", ".."},
      {"", ""},
      {"\xc3\xa9"
       "1",
       "\xc3\xa9<*>"},
  };
  for (const auto& row : kTable) EXPECT_EQ(Masked(row.token), row.masked) << row.token;
}

TEST(MaskToken, OfALongTokenTheBeginningIsLookedAt) {
  EXPECT_EQ(Masked(std::string(100'000, 'x')).size(), kMostOfToken);
  std::string widest;
  while (widest.size() < 2 * kMostOfToken) widest += "1x";
  EXPECT_LE(Masked(widest).size(), kMostMasked);
}

TEST(ShapeOf, IsTheSameForWhatDiffersOnlyInWhatIsMasked) {
  Shape a;
  Shape b;
  ShapeOf("worker 3 lost 10.0.0.1:80 after 5ms", a);
  ShapeOf("  worker 17\tlost 10.0.0.2:81 after 1234ms\r", b);
  EXPECT_EQ(a.hash, b.hash);
  EXPECT_EQ(a.size, 6);
  EXPECT_EQ(a.key, b.key);
  ShapeOf("worker 3 found 10.0.0.1:80 after 5ms", b);
  EXPECT_NE(a.hash, b.hash);
}

TEST(ShapeOf, TheFirstTokenWithoutAMaskIsTheKey) {
  Shape a;
  Shape b;
  ShapeOf("2021-05-23 08:45:57 lost the lease", a);
  ShapeOf("lost", b);
  EXPECT_EQ(a.key, b.key);
  ShapeOf("1 2 3", b);
  EXPECT_EQ(b.key, kAnyToken);
}

TEST(ShapeOf, ALineThatGoesOnIsNotOneThatEnds) {
  std::string many;
  for (std::size_t i = 0; i < kMostTokens; ++i) many += "a ";
  Shape ends;
  Shape goes_on;
  ShapeOf(many, ends);
  ShapeOf(many + "a", goes_on);
  EXPECT_EQ(ends.size, kMostTokens);
  EXPECT_EQ(goes_on.size, kMostTokens + 1);
  EXPECT_NE(ends.hash, goes_on.hash);
  std::string text;
  AppendMasked(many + "a", text);
  EXPECT_EQ(text, many + "...");
}

}  // namespace
}  // namespace galen::log_templates
