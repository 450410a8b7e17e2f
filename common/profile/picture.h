#ifndef COMMON_PROFILE_PICTURE_H_
#define COMMON_PROFILE_PICTURE_H_

#include <string>

#include "common/profile/job.h"

namespace galen::profile {

// The traces as an SVG picture: for each GPU how its step divides, and one step of one GPU, stream
// by stream. It says in words what its colours say, and suits light and dark pages. Empty where no
// trace has a GPU. Pure.
std::string Picture(const JobProfile& job);

}  // namespace galen::profile

#endif  // COMMON_PROFILE_PICTURE_H_
