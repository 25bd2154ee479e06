package main
import ("testing";"tendon/ecs")
func benchSave(b *testing.B, l load, n int){ w:=l.world(n); ring := make([]ecs.Snapshot, ringDepth); for b.Loop(){ w.Step(ecs.TickInputs{}); w.Save(&ring[w.Tick()%ringDepth]) } }
func BenchmarkSaveEvery10k(b *testing.B){ benchSave(b,loads[0],10000) }
func BenchmarkSaveEvery100k(b *testing.B){ benchSave(b,loads[0],100000) }
