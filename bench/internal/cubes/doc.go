// Package cubes is a recording of rigid bodies for measuring how state is compressed: 900 small cubes at rest and a
// large one that rolls through them, at 60 frames a second, in the units of G. Fiedler's article "Snapshot Compression"
// (gafferongames.com, 2015): positions in 1/512 m, orientations as the three smallest components of a quaternion in nine
// bits each. Pack is the article's way to write a frame against an older one, bit by bit.
//
// It is no physics engine: bodies touch the floor with their corners and each other as balls, which is enough for them
// to roll, to be pushed and to come to rest.
package cubes
