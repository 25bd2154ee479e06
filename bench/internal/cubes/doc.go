// Package cubes is a recording of rigid bodies to measure the compression of state. A large cube rolls through 900 small
// ones at rest, at 60 frames a second. The units are those of G. Fiedler's article "Snapshot Compression"
// (gafferongames.com, 2015): positions in 1/512 m, orientations as the three smallest components of a quaternion in nine
// bits each.
//
// It is no physics engine: bodies touch the floor with their corners and each other as balls.
package cubes
