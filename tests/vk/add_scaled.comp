#version 450
// y = factor * x + workgroups, and what the kernel sees of its bindings and parameters.
layout(local_size_x = 4) in;

layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 3) buffer Y { uint y[]; };
layout(set = 0, binding = 1) buffer Seen { uint seen[4]; };

#ifdef PARAMETER_BLOCK
layout(set = 0, binding = 5) readonly buffer Parameters {
#else
layout(push_constant) uniform Parameters {
#endif
  uint elements;
  uint workgroups;
  uint factor;
};

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < elements) y[i] += factor * x[i] + workgroups;
  if (i == 0) {
    seen[0] = x.length();  // the words bound, padding included
    seen[1] = elements;
    seen[2] = workgroups;
    seen[3] = factor;
  }
}
