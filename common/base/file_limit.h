#ifndef COMMON_BASE_FILE_LIMIT_H_
#define COMMON_BASE_FILE_LIMIT_H_

namespace galen {

// Lets the process have as many files open as the machine allows it, at most 65,536: the usual soft
// limit of 1,024 is for programs that use select(2), and a few hundred connections use it up. (Of a
// limit of a billion, programs that close all there might be take minutes.) Gives how many that
// are.
int RaiseFileLimit();

}  // namespace galen

#endif  // COMMON_BASE_FILE_LIMIT_H_
