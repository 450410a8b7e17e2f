#ifndef COMMON_BASE_FILE_LIMIT_H_
#define COMMON_BASE_FILE_LIMIT_H_

namespace galen {

// Raises the process's limit of open files to the machine's maximum, at most 65,536: the usual soft
// limit of 1,024 is for programs that use select(2), and a few hundred connections use it up.
// (Under a limit of a billion, programs that close every possible descriptor take minutes.) Returns
// the new limit.
int RaiseFileLimit();

}  // namespace galen

#endif  // COMMON_BASE_FILE_LIMIT_H_
