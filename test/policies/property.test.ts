// Random policies and random calls, held against an oracle that was written from the documentation (./oracle/oracle.ts):
// nothing that it refuses is allowed, nothing that it allows is refused, and the same policy is charged. On Substrate networks
// the service may read fewer calls: a library must read them alike.
// Another seed: STRONGROOM_SEED.

import { expect, test } from 'bun:test'
import { type AbiParameter, hexToBytes, toFunctionSelector } from 'viem'
import type { AbiInput, AddedAbiItem, Chain, Hex, Intent } from '../../src/chains/chain.ts'
import { createEvmChain } from '../../src/chains/evm/chain.ts'
import { evmNetworkRow, type SubstrateNetwork, substrateNetworkRow } from '../../src/chains/networks.ts'
import { createNodelessSubstrateChain } from '../../src/chains/substrate/nodeless.ts'
import { readCall, readMessage } from '../../src/chains/substrate/read-call.ts'
import type { Runtime } from '../../src/chains/substrate/runtime.ts'
import { createMemory } from '../chains/evm/memory.ts'
import { assetHubRuntime, varaRuntime } from '../chains/substrate/metadata.ts'
import { fundedAccount } from '../support/chains.ts'
import { isLong } from '../support/long.ts'
import { bySelector, type Known, readContractCall } from './oracle/abi.ts'
import { ADDED, attacked, BUILT_IN, CONTRACTS, callsOf } from './oracle/evm-uses.ts'
import { allowingPolicy, isAccepted, standingOf } from './oracle/judge.ts'
import { type Call, chargedPolicy, type Policy, type World } from './oracle/oracle.ts'
import { randomOf } from './oracle/random.ts'
import { policiesFor, type Readers } from './oracle/rules.ts'
import { readProgramMessage, readRuntimeCall, typesOf } from './oracle/scale.ts'
import { attackedUse, runtimeUse } from './oracle/substrate-uses.ts'

const SEED = Number(process.env.STRONGROOM_SEED ?? 20_261_123)
/** Of a hundred cases, so many at least are allowed, and so many at least are refused. */
const SHARE_PERCENT = 20
/** Of a hundred calls of a runtime, so many at most may be read by the oracle alone: by its library, addresses by index never. */
const UNREAD_PERCENT = 5

const account = fundedAccount(3)
const publicKey = hexToBytes(account.publicKey)

type Case = { readonly policies: readonly Policy[]; readonly calls: readonly Call[] }
type Setting = {
  readonly name: string
  readonly chain: Chain
  readonly publicKey: Uint8Array
  readonly world: World
  draw(seed: number): Case
}

const shown = (value: unknown): string =>
  JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? String(each) : each), 1)

/** Whether the service cannot read a call that the oracle reads. */
const isUnread = async ({ chain, world }: Setting, calls: readonly Call[]): Promise<boolean> => {
  for (const call of calls) {
    if (world.read(call) !== null && (await chain.readCall(call as Intent)) === null) return true
  }
  return false
}

const holdAgainstOracle = async (settings: readonly Setting[], cases: number): Promise<void> => {
  let [allowed, refused, unread] = [0, 0, 0]
  for (let index = 0; index < cases; index += 1) {
    const setting = settings[index % settings.length] as Setting
    const { chain, world } = setting
    const drawn = setting.draw(SEED + index)
    const { calls } = drawn
    const policies = drawn.policies.filter((policy) => isAccepted(chain, policy))
    const expected = chargedPolicy(world, policies, calls)
    const use = { chain, publicKey: setting.publicKey, standing: standingOf(chain, policies) }
    const found = await allowingPolicy(use, calls as readonly Intent[])
    if (found !== expected && found === null && (await isUnread(setting, calls))) unread += 1
    else if (found !== expected) {
      const what = `policy ${found} is charged, by the oracle ${expected}`
      throw new Error(`STRONGROOM_SEED=${SEED}, case ${index}, ${setting.name}: ${what}: ${shown({ policies, calls })}`)
    }
    if (found === null) refused += 1
    else allowed += 1
  }
  console.log(
    `STRONGROOM_SEED=${SEED}: of ${cases} uses ${allowed} were allowed, ${refused} refused, ${unread} not read.`,
  )
  expect(100 * Math.min(allowed, refused)).toBeGreaterThan(SHARE_PERCENT * cases)
  expect(100 * unread).toBeLessThan(UNREAD_PERCENT * cases)
}

const inputOf = ({ name = '', type, ...rest }: AbiParameter): AbiInput => ({
  ...{ name, type },
  ...('components' in rest ? { components: rest.components.map(inputOf) } : {}),
})

const addedItem = ({ item, boundTo }: Known): AddedAbiItem => ({
  ...{ name: item.name, inputs: item.inputs.map(inputOf), selector: toFunctionSelector(item) },
  ...{ isGeneral: boundTo === undefined, addresses: boundTo ?? [] },
})

const row = evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true })
/** Nothing answers there: what is allowed depends on no node once a contract's standard is known. */
const NO_NODE = 'http://127.0.0.1:1'

const evmSetting = (added: readonly Known[], index: number): Setting => {
  const memory = createMemory()
  const items = added.map(addedItem)
  const chain = createEvmChain({
    ...{ row, rpcUrl: NO_NODE },
    memory: {
      ...memory,
      readAbiItems: async ({ selectors }) => items.filter(({ selector }) => selectors.includes(selector as Hex)),
    },
  })
  const contractWallet = chain.contractWallets?.of(account.address).address ?? null
  if (contractWallet === null) throw new Error('expected a contract wallet')
  const standards = new Map<string, (typeof CONTRACTS)[string]>([
    ...Object.entries(CONTRACTS),
    [contractWallet, 'other'],
  ])
  for (const [address, standard] of standards) {
    memory.kept.set(address, { isContract: true, standard, name: 'x', symbol: '', decimals: 0 })
  }
  const standardOf = (to: string) => standards.get(to) ?? 'other'
  const readerOf = (known: readonly Known[]): World['read'] => {
    const contracts = { known: bySelector(known), standardOf }
    return (call) => readContractCall(contracts, call)
  }
  const world: World = { family: 'evm', contractWallet, read: readerOf([...BUILT_IN, ...added]) }
  const bySelectors = bySelector([...BUILT_IN, ...added])
  const doubtful = [...bySelectors.values()].filter(({ length }) => length > 1).flat()
  // Whoever makes a policy may know one declaration alone.
  const readers: Readers = [world.read, ...[...added, ...doubtful].map(({ item }) => readerOf([{ item }]))]
  const often = Array.from({ length: 12 }, () => [...added, ...doubtful]).flat()
  const functions = [...often, ...BUILT_IN].map(({ item }) => item)
  const draw = (seed: number): Case => {
    const random = randomOf(seed)
    const source = { random, functions }
    const calls = callsOf(source, [contractWallet])
    const policies = policiesFor(random, readers, calls)
    return { policies, calls: random.isLikely(30) ? attacked(source, calls) : calls }
  }
  return { name: `an EVM network with added ABIs ${index}`, chain, publicKey, world, draw }
}

test('on an EVM network, policies allow what the documentation says, and nothing else', async () => {
  await holdAgainstOracle(ADDED.map(evmSetting), isLong ? 100_000 : 2_000)
}, 600_000)

const substrateSetting = (network: SubstrateNetwork, runtime: Runtime): Setting => {
  const row = substrateNetworkRow({ network, environment: 'testnet', devnet: true })
  const types = typesOf(runtime.metadata.asLatest.lookup, row.ss58Prefix)
  // Of the chain only what asks no node; the runtime is the one that a node would name.
  const chain = {
    ...createNodelessSubstrateChain(row),
    terms: { isWithinFeeCap: () => true },
    readCall: async ({ to, value, input }: Intent) => {
      if (to === null) return readCall(runtime, input)
      return row.hasPrograms && input !== '0x' ? readMessage(runtime, { to, value, input }) : null
    },
  } as unknown as Chain
  const world: World = {
    ...{ family: 'substrate', contractWallet: null },
    read: (call) => (call.to === null ? readRuntimeCall(types, call.input) : readProgramMessage(types, call)),
  }
  const draw = (seed: number): Case => {
    const source = { random: randomOf(seed), types, hasPrograms: row.hasPrograms }
    const call = runtimeUse(source)
    const policies = policiesFor(source.random, [world.read], [call])
    return { policies, calls: [source.random.isLikely(35) ? attackedUse(source, call) : call] }
  }
  return { name: network, chain, publicKey: new Uint8Array(32), world, draw }
}

test('on a Substrate network, policies allow what the documentation says, and nothing else', async () => {
  const vara = varaRuntime()
  const settings = [
    substrateSetting('Polkadot', assetHubRuntime()),
    ...(vara === null ? [] : [substrateSetting('Vara', vara)]),
  ]
  await holdAgainstOracle(settings, isLong ? 20_000 : 600)
}, 600_000)
