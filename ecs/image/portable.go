package image

import (
	"fmt"
	"reflect"
	"unsafe"
)

// target describes how a target lays out structs. Targets differ only in align, the largest alignment of a value of
// 8 bytes: 8 on 64-bit targets and WebAssembly, 4 on 386, arm and mips.
type target struct{ align uintptr }

var (
	target64 = target{8}
	target32 = target{4}
	// native is the target this build runs on.
	native = target{unsafe.Alignof(struct{ v uint64 }{}.v)}
)

// littleEndian reports whether this target stores the lowest byte first, as the image's bytes are defined.
var littleEndian = func() bool {
	one := uint16(1)
	return *(*byte)(unsafe.Pointer(&one)) == 1
}()

// shape returns the size and alignment of a plain type.
func (g target) shape(t reflect.Type) (size, align uintptr) {
	switch t.Kind() {
	case reflect.Array:
		size, align = g.shape(t.Elem())
		return size * uintptr(t.Len()), align
	case reflect.Struct:
		_, size, align = g.structure(t)
		return size, align
	}
	return t.Size(), min(t.Size(), g.align)
}

// structure returns the offset of every field of a struct, and its size and alignment.
func (g target) structure(t reflect.Type) (offsets []uintptr, size, align uintptr) {
	align = 1
	last := uintptr(1)
	for i := range t.NumField() {
		s, a := g.shape(t.Field(i).Type)
		size = alignUp(size, a)
		offsets = append(offsets, size)
		size, align, last = size+s, max(align, a), s
	}
	if last == 0 && size > 0 { // so that a pointer to the last field does not point behind the struct
		size++
	}
	return offsets, alignUp(size, align), align
}

func alignUp(n, to uintptr) uintptr { return (n + to - 1) / to * to }

// misplacedIn returns the path and the problem of the first part of t that has another offset or size on 32-bit
// targets, "" if there is none. at64 and at32 are the offsets of t itself.
func misplacedIn(t reflect.Type, path string, at64, at32 uintptr) (field, problem string) {
	if at64 != at32 {
		return path, fmt.Sprintf("lies at byte %d on 64-bit targets and at %d on 32-bit ones; put a `_ uint32` before it", at64, at32)
	}
	switch {
	case t.Kind() == reflect.Array && t.Len() > 0:
		return misplacedIn(t.Elem(), path+"[0]", at64, at32)
	case t.Kind() == reflect.Struct:
		offsets64, size64, _ := target64.structure(t)
		offsets32, size32, _ := target32.structure(t)
		for i := range t.NumField() {
			f := t.Field(i)
			if field, problem = misplacedIn(f.Type, joinPath(path, f.Name), at64+offsets64[i], at32+offsets32[i]); problem != "" {
				return field, problem
			}
		}
		if size64 != size32 {
			return path, fmt.Sprintf("is %d bytes on 64-bit targets and %d on 32-bit ones; put a `_ uint32` at its end", size64, size32)
		}
	}
	return "", ""
}
