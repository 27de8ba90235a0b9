import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import solc from 'solc'

const AbiSchema = Type.Array(Type.Object({ type: Type.String() }))
const OutputSchema = Type.Object({
  errors: Type.Optional(Type.Array(Type.Object({ severity: Type.String(), formattedMessage: Type.String() }))),
  contracts: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Record(
        Type.String(),
        Type.Object({ abi: AbiSchema, evm: Type.Object({ bytecode: Type.Object({ object: Type.String() }) }) }),
      ),
    ),
  ),
})

/** The ABI as plain JSON, and the creation code. */
export type CompiledContract = { readonly abi: Static<typeof AbiSchema>; readonly bytecode: `0x${string}` }

/**
 * The settings of all builds, so that one source gives one bytecode.
 * - `cancun`: OpenZeppelin 5.7's Strings and Arrays use MCOPY, which older targets cannot compile. All four networks
 *   have supported it since 2024: Ethereum with Dencun, Polygon with Napoli, Base with Ecotone, Avalanche with Etna.
 * - no metadata hash: it would change the bytecode with each comment and path.
 */
export const COMPILER_SETTINGS = {
  optimizer: { enabled: true, runs: 200 },
  evmVersion: 'cancun',
  metadata: { bytecodeHash: 'none' },
} as const

const require = createRequire(import.meta.url)

const readImport = (path: string): { contents: string } | { error: string } => {
  try {
    return { contents: readFileSync(require.resolve(path), 'utf8') }
  } catch {
    return { error: `${path} is not installed` }
  }
}

/** The compiler's version in solc's form. */
export const compilerVersion = (): string => String(solc.version())

/**
 * Compiles Solidity sources offline; imports are looked up among the installed packages.
 * @param sources file name → source text
 * @returns contract name → compiled contract, for the given files only, without interfaces and abstract contracts
 * @throws Error with the compiler's messages, also for warnings: our contracts compile without any.
 */
export const compile = (sources: Readonly<Record<string, string>>): Record<string, CompiledContract> => {
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(Object.entries(sources).map(([name, content]) => [name, { content }])),
    settings: {
      ...COMPILER_SETTINGS,
      outputSelection: Object.fromEntries(
        Object.keys(sources).map((name) => [name, { '*': ['abi', 'evm.bytecode.object'] }]),
      ),
    },
  }
  const output: unknown = JSON.parse(solc.compile(JSON.stringify(input), { import: readImport }))
  if (!Value.Check(OutputSchema, output)) throw new Error('The Solidity compiler answered in an unknown shape.')
  const problems = (output.errors ?? []).filter(({ severity }) => severity !== 'info')
  if (problems.length > 0) throw new Error(problems.map((problem) => problem.formattedMessage).join('\n'))

  const compiled: Record<string, CompiledContract> = {}
  for (const file of Object.keys(sources)) {
    for (const [name, { abi, evm }] of Object.entries(output.contracts?.[file] ?? {})) {
      if (evm.bytecode.object !== '') compiled[name] = { abi, bytecode: `0x${evm.bytecode.object}` }
    }
  }
  return compiled
}
