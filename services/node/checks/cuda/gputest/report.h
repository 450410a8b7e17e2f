#ifndef SERVICES_NODE_CHECKS_CUDA_GPUTEST_REPORT_H_
#define SERVICES_NODE_CHECKS_CUDA_GPUTEST_REPORT_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

// The output of galen-gputest: each line is "@kind" and fields "name=value", separated by tabs.
// Lines are written at once, so that a reader knows which step was running when the output ends:
//
//   @step      limit=S what=TEXT       begins something that takes at most S seconds; when the next
//                                      line does not come by then, it hangs
//   @progress  done=0..1 what=TEXT
//   @error     call= code= text=       a driver call failed, and with it the test: the last line
//   @hung      what=                   the GPU did not end its work in time: the last line
//   @refused   text=                   the test cannot be made here: the last line
//   @done                              the last line of a test that finished
//
// and the findings of the tests, each in a line of its kind (the comments of tests.h).
namespace galen::node::cuda {

// Exit codes, for people: the lines say more.
inline constexpr int kExitFailed = 3;
inline constexpr int kExitRefused = 4;

using Field = std::pair<const char*, std::string>;

void Say(const char* kind, std::initializer_list<Field> fields);

// Factor on all limits below, for machines that are slow by nature; 1 at first.
void SetPatience(double factor);
double Patience();

// Reports a step and the most seconds that it may take.
void SayStep(double limit, const std::string& what);
void SayProgress(double done, const std::string& what);
// These end the process: the driver takes back all that it holds.
[[noreturn]] void SayErrorAndExit(const char* call, int code, const std::string& text);
[[noreturn]] void SayHungAndExit(const std::string& what);
[[noreturn]] void SayRefusedAndExit(const std::string& text);

// As decimal numbers that read back exactly enough.
std::string Text(double number);
std::string Text(std::uint64_t number);
std::string Hex(std::uint64_t number);

}  // namespace galen::node::cuda

#endif  // SERVICES_NODE_CHECKS_CUDA_GPUTEST_REPORT_H_
