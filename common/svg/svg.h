#ifndef COMMON_SVG_SVG_H_
#define COMMON_SVG_SVG_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::svg {

// The style sheet of pictures that stand alone, for light and dark backgrounds. Classes: p ground,
// t text, q quiet text, g the ground of a bar, l grid line, f frame; n a curve, with a, b, d
// (dashed), peers or c0 to c5 for its colour; o a point, level and shade as their names say.
extern const char kSvgStyle[];

// Maps values to a rectangle of the sheet, whose edges have given values.
struct Frame {
  double left, top, width, height;
  double x_low, x_high, y_low, y_high;

  double X(double at) const { return left + width * (at - x_low) / (x_high - x_low); }
  double Y(double at) const { return top + height * (y_high - at) / (y_high - y_low); }
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

// Writes one picture. Texts are foreign: they are cleaned, cut and escaped. Types (classes of the
// style sheet) and further attributes are ours.
class Svg {
 public:
  void Text(double x, double y, absl::string_view text, absl::string_view type,
            absl::string_view anchor = "start", absl::string_view more = "");
  void Line(double x1, double y1, double x2, double y2, absl::string_view type = "l");
  // `hint`: shown where a pointer rests on it.
  void Rect(double x, double y, double width, double height, absl::string_view type,
            absl::string_view hint = "", absl::string_view more = "");
  void Circle(double x, double y, double radius, absl::string_view type,
              absl::string_view hint = "");
  void Path(absl::string_view steps, absl::string_view type, absl::string_view more = "");
  // Samples of curves with their names, from the left edge on.
  void Keys(double y, const std::vector<std::pair<const char*, const char*>>& type_and_name);

  // The picture drawn so far. Without a style sheet it has no ground: a page has both.
  std::string Finish(double width, double height, absl::string_view title,
                     absl::string_view style = kSvgStyle) const;

  // The room that the names of a legend take, in pixels.
  static double WidthOf(absl::string_view text) { return 7.2 * static_cast<double>(text.size()); }

 private:
  std::string body_;
};

}  // namespace galen::svg

#endif  // COMMON_SVG_SVG_H_
