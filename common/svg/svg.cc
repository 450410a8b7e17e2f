#include "common/svg/svg.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/base/text.h"

namespace galen::svg {
namespace {

constexpr std::size_t kMostText = 256;

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(CleanText(text, kMostText),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string HintOf(absl::string_view hint) {
  return hint.empty() ? "" : absl::StrCat("<title>", Escaped(hint), "</title>");
}

}  // namespace

const char kSvgStyle[] = R"(<style>
.p{fill:#ffffff}.t{fill:#1f2328}.q{fill:#59636e}.g{fill:#eaeef2}.l,.f{stroke:#d1d9e0}.f{fill:none}
.n{fill:none;stroke-width:1.8}.a{stroke:#0969da}.b{stroke:#bc4c00}.d{stroke:#57606a;stroke-dasharray:5 4}.o{fill:#cf222e}
.peers{stroke:#8b949e}.level{fill:none;stroke:#0550ae;stroke-width:2.4;stroke-dasharray:5 3}.shade{fill:#d1242f;opacity:.09}
.c0{stroke:#cf222e}.c1{stroke:#953800}.c2{stroke:#8250df}.c3{stroke:#1a7f37}.c4{stroke:#bf3989}.c5{stroke:#4d2d00}
@media (prefers-color-scheme:dark){.p{fill:#0d1117}.t{fill:#e6edf3}.q{fill:#9198a1}.g{fill:#21262d}.l,.f{stroke:#3d444d}
.a{stroke:#4493f8}.b{stroke:#f0883e}.d{stroke:#9198a1}.o{fill:#ff7b72}.peers{stroke:#7d8590}.level{stroke:#79c0ff}.shade{opacity:.2}
.c0{stroke:#ff7b72}.c1{stroke:#f0883e}.c2{stroke:#d2a8ff}.c3{stroke:#56d364}.c4{stroke:#f778ba}.c5{stroke:#e3b341}}
</style>
)";

void Svg::Text(double x, double y, absl::string_view text, absl::string_view type,
               absl::string_view anchor, absl::string_view more) {
  absl::StrAppendFormat(&body_,
                        "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n",
                        type, x, y, anchor, more, Escaped(text));
}

void Svg::Line(double x1, double y1, double x2, double y2, absl::string_view type) {
  absl::StrAppendFormat(&body_,
                        "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                        type, x1, y1, x2, y2);
}

void Svg::Rect(double x, double y, double width, double height, absl::string_view type,
               absl::string_view hint, absl::string_view more) {
  absl::StrAppendFormat(
      &body_,
      "<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"%s>%s</rect>\n", type,
      x, y, width, height, more, HintOf(hint));
}

void Svg::Circle(double x, double y, double radius, absl::string_view type,
                 absl::string_view hint) {
  absl::StrAppendFormat(&body_,
                        "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">%s</circle>\n",
                        type, x, y, radius, HintOf(hint));
}

void Svg::Path(absl::string_view steps, absl::string_view type, absl::string_view more) {
  absl::StrAppend(&body_, "<path class=\"", type, "\"", more, " d=\"", steps, "\"/>\n");
}

void Svg::Keys(double y, const std::vector<std::pair<const char*, const char*>>& type_and_name) {
  double x = 16;
  for (const auto& [type, name] : type_and_name) {
    Path(absl::StrFormat("M%.1f %.1fh26", x, y), absl::StrCat("n ", type));
    Text(x + 32, y + 4, name, "q");
    x += 60 + WidthOf(name);
  }
}

std::string Svg::Finish(double width, double height, absl::string_view title,
                        absl::string_view style) const {
  return absl::StrCat(
      absl::StrFormat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                      "viewBox=\"0 0 %.0f %.0f\" font-family=\"system-ui, DejaVu Sans, Helvetica, "
                      "Arial, sans-serif\" font-size=\"13\" role=\"img\">\n",
                      width, height, width, height),
      "<title>", Escaped(title), "</title>\n", style,
      style.empty() ? "" : "<rect class=\"p\" width=\"100%\" height=\"100%\" rx=\"8\"/>\n", body_,
      "</svg>\n");
}

}  // namespace galen::svg
