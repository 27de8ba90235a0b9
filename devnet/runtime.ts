import type { Changes, Hex } from './runtime-changes.ts'
import { hostFunctions } from './runtime-host.ts'
import { createRuntimeMemory } from './runtime-memory.ts'

/** sp_maybe_compressed_blob: the prefix of code compressed with zstd. */
const COMPRESSED = Buffer.from('52bc537646db8e05', 'hex')

const memory = createRuntimeMemory()
let compiled: { readonly code: Hex; readonly module: WebAssembly.Module } | undefined

/** The runtime of the newest blocks alone is kept: it changes only with an upgrade. */
const compile = (code: Hex): WebAssembly.Module => {
  if (compiled?.code === code) return compiled.module
  const bytes = Buffer.from(code.slice(2), 'hex')
  const isCompressed = bytes.indexOf(COMPRESSED) === 0
  const binary = isCompressed ? Bun.zstdDecompressSync(bytes.subarray(COMPRESSED.length)) : bytes
  const module = new WebAssembly.Module(new Uint8Array(binary))
  compiled = { code, module }
  return module
}

/**
 * Calls a function of a runtime, which this process compiles once. chopsticks interprets the runtime in WebAssembly,
 * and reads its code anew for each call, which takes a hundred times as long.
 * @param input.input in SCALE
 * @returns the result in SCALE. @throws Error if the runtime panics
 */
export const callRuntime = (call: {
  readonly code: Hex
  readonly name: string
  readonly input: Uint8Array
  readonly changes: Changes
}): Buffer => {
  const module = compile(call.code)
  memory.clear()
  const functions = hostFunctions({ memory, changes: call.changes })
  const lacking = (name: string) => () => {
    throw new Error(`The runtime calls ${name}, which local chains do not have.`)
  }
  const env = Object.fromEntries(
    WebAssembly.Module.imports(module).map(({ name }) => [
      name,
      name === 'memory' ? memory.memory : (functions[name] ?? lacking(name)),
    ]),
  )
  const { exports } = new WebAssembly.Instance(module, { env } as WebAssembly.Imports)
  memory.startHeap((exports.__heap_base as WebAssembly.Global).value)
  const called = exports[call.name]
  if (typeof called !== 'function') throw new Error(`The runtime has no function ${call.name}.`)
  const result = called(memory.place(call.input), call.input.length)
  return Buffer.from(memory.read(result))
}
