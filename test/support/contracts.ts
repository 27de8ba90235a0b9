import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { Abi, Hex } from 'viem'
import openZeppelin from '../../node_modules/@openzeppelin/contracts/package.json'
import solc from '../../node_modules/solc/package.json'
import type { CompiledContract } from '../../src/chains/evm/contracts/compile.ts'

/** A contract of `test/contracts`, ready to be deployed. */
export type TestContract = { readonly name: string; readonly abi: Abi; readonly bytecode: Hex }

/** The contracts of `test/contracts`, by name. */
export type TestContractName =
  | 'TestToken'
  | 'Crowd'
  | 'WizardCollection'
  | 'BareCollection'
  | 'MintToCollection'
  | 'MultiToken'
  | 'RevertingCollection'
  | 'ChosenIdCollection'
  | 'EditionCollection'
  | 'PaidCollection'
  | 'FaucetToken'
  | 'TipJar'
  | 'CoinForwarder'
  | 'ToldToken'
  | 'LongToken'
  | 'TokenProxy'
  | 'TokenBeacon'
  | 'TokenBeaconProxy'
  | 'OddToken'
  | 'WrappedCoin'
  | 'Stake'
  | 'RebasingToken'
  | 'PaysAtBirth'
  | 'LastWill'
  | 'BurnableToken'
  | 'BurnableNft'
  | 'BurnableMulti'
  | 'FeeToken'
  | 'SilentToken'
  | 'FalseToken'
  | 'DebtToken'
  | 'CoinContract'
  | 'Refuser'
  | 'Previewed'
  | 'NameRegistry'
  | 'NameResolver'
  | 'WildcardResolver'
  | 'SignedToken'
  | 'SignatureTransfer'
  | 'FjordOracle'
  | 'IsthmusOracle'
  | 'JovianOracle'
  | 'RefusingOracle'
  | 'SilentOracle'

const SOURCE_FOLDER = new URL('../contracts/', import.meta.url)

const readSources = (): Record<string, string> => {
  const names = readdirSync(SOURCE_FOLDER).filter((name) => name.endsWith('.sol'))
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(new URL(name, SOURCE_FOLDER), 'utf8')]))
}

/** Compiling takes two seconds, so the result for the same sources, compiler and settings is kept between runs. */
export const compileCached = async (sources: Record<string, string>): Promise<Record<string, CompiledContract>> => {
  const compilerUrl = new URL('../../src/chains/evm/contracts/compile.ts', import.meta.url)
  const key = JSON.stringify([sources, readFileSync(compilerUrl, 'utf8'), solc.version, openZeppelin.version])
  const folder = join(tmpdir(), `strongroom-contracts-${userInfo().uid}`)
  const path = join(folder, `${createHash('sha256').update(key).digest('hex')}.json`)
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    // Loading the compiler takes 0.4 s, so it is not loaded if the result is cached.
    const { compile } = await import('../../src/chains/evm/contracts/compile.ts')
    const compiled = compile(sources)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(`${path}.${process.pid}`, JSON.stringify(compiled))
    renameSync(`${path}.${process.pid}`, path)
    return compiled
  }
}

let compiled: Promise<Record<string, CompiledContract>> | undefined

/** One contract of `test/contracts`; all of them are compiled at the first call. */
export const testContract = async (name: TestContractName): Promise<TestContract> => {
  compiled ??= compileCached(readSources())
  const contract = (await compiled)[name]
  if (contract === undefined) throw new Error(`test/contracts defines no ${name}.`)
  return { name, abi: contract.abi as readonly unknown[] as Abi, bytecode: contract.bytecode }
}
