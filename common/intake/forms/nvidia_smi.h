#ifndef COMMON_INTAKE_FORMS_NVIDIA_SMI_H_
#define COMMON_INTAKE_FORMS_NVIDIA_SMI_H_

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/intake/forms/forms.h"

namespace galen::intake {

// An element of the XML that `nvidia-smi -q -x` prints.
class XmlElement {
 public:
  explicit XmlElement(absl::string_view tag) : tag_(tag) {}

  const std::string& tag() const { return tag_; }
  bool empty() const { return text_.empty() && children_.empty(); }

  // The child of that tag, which is added where it is missing. nullptr: it has too many children.
  XmlElement* Child(absl::string_view tag);
  // One more child of that tag.
  XmlElement* Add(absl::string_view tag);
  // The child that was added last; nullptr without children.
  XmlElement* Last();
  bool Has(absl::string_view tag) const;
  // The text of the child of that tag; "" where it is missing.
  absl::string_view TextOf(absl::string_view tag) const;
  // Sets the text at "pci/pci_bus_id"; a text that is there already stays.
  void Set(absl::string_view path, absl::string_view text);

  // Its content, an element a line, as line by line readers of the XML expect it.
  void WriteContent(int depth, std::string* out) const;

 private:
  void Write(int depth, std::string* out) const;

  std::string tag_;
  std::string text_;
  std::list<XmlElement> children_;
};

// The facts that a text of nvidia-smi holds, on their way to the XML.
class SmiLog {
 public:
  struct Gpu {
    std::optional<int> number;  // nvidia-smi's index, if the text or the command gives it
    std::string address;
    XmlElement content{"gpu"};
    // The text lists it, even if it holds no value of it.
    bool shown = false;
  };

  // Facts of the whole machine, such as versions.
  XmlElement& root() { return root_; }
  std::list<Gpu>& gpus() { return gpus_; }
  // nullptr: there are too many.
  Gpu* AddGpu();
  // A warning that nvidia-smi prints beside its output.
  void AddRemark(absl::string_view line);
  // The text lacks some GPUs, or some of their values.
  void set_partial() { partial_ = true; }

  // The XML. It numbers GPUs by their order, so if the numbers are known, an empty element stands
  // for each GPU that the text does not show. If no GPU was read, the result is nvidia-smi's
  // refusal in `text`, because nvidia-smi prints the same sentence instead of the XML;
  // INVALID_ARGUMENT if the text does not hold one either.
  absl::StatusOr<Converted> Finish(absl::string_view form, absl::string_view text) &&;

 private:
  void Number(std::vector<const Gpu*>* places);

  XmlElement root_{"nvidia_smi_log"};
  std::list<Gpu> gpus_;
  std::vector<std::string> remarks_;
  bool partial_ = false;
};

// Gives the GPUs the numbers that the command asks for: "-i 4", "--id=0,2".
void NumberByCommand(absl::string_view command, SmiLog* log);

// Sets a total of ECC errors at "volatile/double_bit" or the like. A total of zero also sets the
// counts of memory and caches; any other total leaves their shares unknown.
void SetEccTotal(absl::string_view count, absl::string_view place, XmlElement* gpu);

}  // namespace galen::intake

#endif  // COMMON_INTAKE_FORMS_NVIDIA_SMI_H_
