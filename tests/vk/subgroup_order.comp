#version 450
#extension GL_KHR_shader_subgroup_basic : require
// Where each invocation stands when subgroups are laid end to end.
#ifdef WHOLE_ROWS
layout(local_size_x = 16, local_size_y = 3, local_size_z = 2) in;
#else
layout(local_size_x = 45) in;  // no multiple of any subgroup's size
#endif

layout(set = 0, binding = 0) buffer Places { uint places[]; };

void main() {
  const uint workgroup = gl_WorkGroupID.x * gl_WorkGroupSize.x * gl_WorkGroupSize.y * gl_WorkGroupSize.z;
  places[workgroup + gl_LocalInvocationIndex] =
      workgroup + gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
}
