package ecs

// Bridged reports whether the world has a donburi world.
func (w *World) Bridged() bool { return w.bridge != nil }

// Bring brings the world's donburi world in step without a verification.
func (w *World) Bring() { w.bring() }

// BridgedBlock is 64 rows as donburi knows them.
type BridgedBlock = bridgedBlock
