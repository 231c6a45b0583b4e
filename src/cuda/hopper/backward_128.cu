#include "cuda/hopper/backward_kernel.cuh"

template void attend::cuda::launch_backward<attend::cuda::Backward128>(attend::plugin::Place,
                                                                     const attend::cuda::BackwardParameters&);
