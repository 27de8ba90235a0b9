import { readFileSync, writeFileSync } from 'node:fs'
import { COMPILER_SETTINGS, type CompiledContract, compile, compilerVersion } from './compile.ts'

/** Our contracts, and the prefix of the names in their generated files. */
const CONTRACTS = [
  { name: 'StrongroomCollection', prefix: 'collection', file: 'collection.generated.ts' },
  { name: 'StrongroomEditions', prefix: 'editions', file: 'editions.generated.ts' },
  { name: 'StrongroomToken', prefix: 'token', file: 'token.generated.ts' },
  { name: 'CoinBatch', prefix: 'coinBatch', file: 'coin-batch.generated.ts' },
] as const

/** Sources that these import. */
const IMPORTED = ['OwnedCollection.sol', 'DigestUris.sol']

const urlOf = (file: string): URL => new URL(file, import.meta.url)

/** The text of a generated file. */
const writeSource = ({ name, prefix }: (typeof CONTRACTS)[number], contract: CompiledContract | undefined): string => {
  const source = `${name}.sol`
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

/** The generated files by name, for the current sources, compiler and OpenZeppelin version. */
export const buildContracts = (): Readonly<Record<string, string>> => {
  const sources = [...CONTRACTS.map(({ name }) => `${name}.sol`), ...IMPORTED]
  const compiled = compile(Object.fromEntries(sources.map((source) => [source, readFileSync(urlOf(source), 'utf8')])))
  return Object.fromEntries(
    CONTRACTS.map((contract) => [contract.file, writeSource(contract, compiled[contract.name])]),
  )
}

if (import.meta.main) {
  for (const [file, built] of Object.entries(buildContracts())) writeFileSync(urlOf(file), built)
}
