import { readFileSync, writeFileSync } from 'node:fs'
import { COMPILER_SETTINGS, compile, compilerVersion } from './compile.ts'

const SOURCE_URL = new URL('./StrongroomCollection.sol', import.meta.url)
const GENERATED_URL = new URL('./collection.generated.ts', import.meta.url)

/** The text of `collection.generated.ts` for the current source, compiler and OpenZeppelin version. */
export const buildCollection = (): string => {
  const compiled = compile({ 'StrongroomCollection.sol': readFileSync(SOURCE_URL, 'utf8') })
  const collection = compiled.StrongroomCollection
  if (collection === undefined) throw new Error('StrongroomCollection.sol does not define StrongroomCollection.')
  const { optimizer, evmVersion } = COMPILER_SETTINGS
  return [
    '// Built from StrongroomCollection.sol by build.ts: do not edit, run `bun src/chains/evm/contracts/build.ts`.',
    '',
    '/** The compiler that made the bytecode; what an explorer asks for to verify a deployed collection. */',
    `export const collectionCompiler = ${JSON.stringify({ version: compilerVersion(), optimizerRuns: optimizer.runs, evmVersion })} as const`,
    '',
    '/** The ABI of StrongroomCollection. */',
    `export const collectionAbi = ${JSON.stringify(collection.abi)} as const`,
    '',
    '/** The creation code of StrongroomCollection; the ABI-encoded constructor arguments are appended to it. */',
    'export const collectionBytecode =',
    `  '${collection.bytecode}'`,
    '',
  ].join('\n')
}

const readGenerated = (): string => {
  try {
    return readFileSync(GENERATED_URL, 'utf8')
  } catch {
    return ''
  }
}

if (import.meta.main) {
  const built = buildCollection()
  if (!process.argv.includes('--check')) {
    writeFileSync(GENERATED_URL, built)
  } else if (readGenerated() !== built) {
    process.stderr.write(
      'collection.generated.ts differs from its source: run `bun src/chains/evm/contracts/build.ts`.\n',
    )
    process.exitCode = 1
  }
}
