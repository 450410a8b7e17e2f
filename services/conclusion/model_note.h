#ifndef SERVICES_CONCLUSION_MODEL_NOTE_H_
#define SERVICES_CONCLUSION_MODEL_NOTE_H_

#include <string>

#include "galen/v1/reasoning.pb.h"

namespace galen::conclusion {

// The part of language models in a diagnosis, as one line for the report: how many questions they
// answered, how many the built-in reasoner answered instead and why, and the cost. "" if no model
// was to answer. Pure.
std::string ModelNote(const google::protobuf::RepeatedPtrField<galen::v1::Reasoned>& reasoned,
                      const std::string& money);

// All of it together. Pure.
galen::v1::Spent SpentOn(const google::protobuf::RepeatedPtrField<galen::v1::Reasoned>& reasoned);

}  // namespace galen::conclusion

#endif  // SERVICES_CONCLUSION_MODEL_NOTE_H_
