# cmake -DIN=file.ptx -DOUT=file.cc -DNAME=kFilePtx -P EmbedText.cmake: a text as a C++ constant.
file(READ ${IN} text)
file(WRITE ${OUT} "// Made by clang; not edited.
#include \"services/node/checks/cuda/gputest/ptx.h\"

namespace galen::node::cuda {

const char* const ${NAME} = R\"PTX(${text})PTX\";

}  // namespace galen::node::cuda
")
