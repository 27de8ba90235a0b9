import { readFileSync, writeFileSync } from 'node:fs'
import { COMPILER_SETTINGS, type CompiledContract, compile, compilerVersion } from './compile.ts'

/** Our contracts, by the prefix of the names in their generated files. */
const CONTRACTS = {
  collection: 'StrongroomCollection',
  editions: 'StrongroomEditions',
  token: 'StrongroomToken',
  coinBatch: 'CoinBatch',
} as const

type Prefix = keyof typeof CONTRACTS

/** Sources that these import. */
const IMPORTED = ['OwnedCollection.sol', 'DigestUris.sol']

const FILES: Readonly<Record<Prefix, string>> = {
  collection: 'collection.generated.ts',
  editions: 'editions.generated.ts',
  token: 'token.generated.ts',
  coinBatch: 'coin-batch.generated.ts',
}

const urlOf = (file: string): URL => new URL(file, import.meta.url)

/** The text of a generated file. */
const fileOf = (prefix: Prefix, compiled: Readonly<Record<string, CompiledContract>>): string => {
  const name = CONTRACTS[prefix]
  const source = `${name}.sol`
  const contract = compiled[name]
  if (contract === undefined) throw new Error(`${source} does not define ${name}.`)
  const { optimizer, evmVersion } = COMPILER_SETTINGS
  const compiler = { version: compilerVersion(), optimizerRuns: optimizer.runs, evmVersion }
  return [
    `// Built from ${source} by build.ts: do not edit, run \`bun src/chains/evm/contracts/build.ts\`.`,
    '',
    '/** The compiler that made the bytecode; what an explorer asks for to verify a deployed contract. */',
    `export const ${prefix}Compiler = ${JSON.stringify(compiler)} as const`,
    '',
    `/** The ABI of ${name}. */`,
    `export const ${prefix}Abi = ${JSON.stringify(contract.abi)} as const`,
    '',
    `/** The creation code of ${name}; the ABI-encoded constructor arguments are appended to it. */`,
    `export const ${prefix}Bytecode =`,
    `  '${contract.bytecode}'`,
    '',
  ].join('\n')
}

const isPrefix = (name: string): name is Prefix => name in CONTRACTS

/** The generated files by name, for the current sources, compiler and OpenZeppelin version. */
export const buildContracts = (): Readonly<Record<string, string>> => {
  const sources = [...Object.values(CONTRACTS).map((name) => `${name}.sol`), ...IMPORTED]
  const compiled = compile(Object.fromEntries(sources.map((source) => [source, readFileSync(urlOf(source), 'utf8')])))
  const prefixes = Object.keys(CONTRACTS).filter(isPrefix)
  return Object.fromEntries(prefixes.map((prefix) => [FILES[prefix], fileOf(prefix, compiled)]))
}

if (import.meta.main) {
  for (const [file, built] of Object.entries(buildContracts())) writeFileSync(urlOf(file), built)
}
