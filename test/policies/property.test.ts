// Random policies and random calls, held against an oracle that was written from the documentation
// (./oracle/oracle.ts): the same policies are taken, nothing that it refuses is allowed, nothing that it allows is
// refused, and the same policy is charged. On EVM networks all ABIs are gone and no node answers when a call is judged.
// On Substrate networks the service may read fewer calls: a library must read them alike. Another seed:
// STRONGROOM_SEED.

import { expect, test } from 'bun:test'
import { type AbiParameter, hexToBytes, toFunctionSelector } from 'viem'
import type { AbiInput, AddedAbiItem, Hex, Intent } from '../../src/chains/chain.ts'
import { createEvmChain } from '../../src/chains/evm/chain.ts'
import { readCall, readMessage } from '../../src/chains/substrate/calls.ts'
import { createNodelessSubstrateChain } from '../../src/chains/substrate/nodeless.ts'
import type { Runtime } from '../../src/chains/substrate/runtime.ts'
import { evmNetworkRow, type SubstrateNetwork, substrateNetworkRow } from '../../src/platform/networks.ts'
import { startFakeNode } from '../chains/evm/fake-node.ts'
import { createMemory } from '../chains/evm/memory.ts'
import { assetHubRuntime, varaRuntime } from '../chains/substrate/metadata.ts'
import { fundedAccount } from '../support/chains.ts'
import { isLong } from '../support/long.ts'
import { agreeOnContracts, bySelector, type Known, readContractCall } from './oracle/abi.ts'
import { ADDED, attacked, BUILT_IN, CONTRACTS, callsOf } from './oracle/evm-uses.ts'
import { allowingPolicy, compiledRules, isWellFormed, type PolicyChain, unrevokedOf } from './oracle/judge.ts'
import { type Call, chargedPolicy, type Policy, type World } from './oracle/oracle.ts'
import { randomOf } from './oracle/random.ts'
import { policiesFor, type Readers } from './oracle/rules.ts'
import { readProgramMessage, readRuntimeCall, typesOf } from './oracle/scale.ts'
import { attackedUse, runtimeUse } from './oracle/substrate-uses.ts'

const SEED = Number(process.env.STRONGROOM_SEED ?? 20_261_123)
/** At least so many of a hundred cases are allowed, and at least so many are refused. */
const SHARE_PERCENT = 20
/**
 * At most so many of a hundred calls of a runtime may be read by the oracle alone: by its library, addresses by index
 * never.
 */
const UNREAD_PERCENT = 5

const account = fundedAccount(3)
const publicKey = hexToBytes(account.publicKey)

type Node = ReturnType<typeof startFakeNode>
type Case = { readonly policies: readonly Policy[]; readonly calls: readonly Call[] }
type Setting = {
  readonly name: string
  readonly chain: PolicyChain
  readonly publicKey: Uint8Array
  readonly world: World
  draw(seed: number): Case
  /** Changes all that may change after a policy was made. */
  age(isOld: boolean): void
}

const shown = (value: unknown): string =>
  JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? String(each) : each), 1)

/** Whether the service cannot read a call that the oracle reads. */
const isUnread = async ({ chain, world }: Setting, calls: readonly Call[]): Promise<boolean> => {
  if (chain.calls.by === 'declaration') return false
  for (const call of calls) {
    if (world.agree([])?.read(call) != null && (await chain.calls.read(call as Intent)) === null) return true
  }
  return false
}

/** The policies of a case that can be made. @throws if the oracle would make others. */
const madePolicies = async ({ chain, world }: Setting, policies: readonly Policy[]): Promise<readonly Policy[]> => {
  const made: Policy[] = []
  for (const policy of policies.filter(({ rules }) => isWellFormed(chain, rules))) {
    const isTaken = (await compiledRules(chain, policy.rules)) !== null
    const isAgreed = world.agree(policy.rules) !== null
    if (isTaken !== isAgreed) throw new Error(`taken: ${isTaken}, by the oracle ${isAgreed}: ${shown(policy.rules)}`)
    if (isTaken) made.push(policy)
  }
  return made
}

const holdAgainstOracle = async (settings: readonly Setting[], cases: number): Promise<void> => {
  let [allowed, refused, unread] = [0, 0, 0]
  for (let index = 0; index < cases; index += 1) {
    const setting = settings[index % settings.length] as Setting
    const { chain, world } = setting
    const drawn = setting.draw(SEED + index)
    const { calls } = drawn
    setting.age(false)
    const policies = await madePolicies(setting, drawn.policies)
    const expected = chargedPolicy(world, policies, calls)
    const use = { chain, publicKey: setting.publicKey, unrevoked: await unrevokedOf({ chain, policies }) }
    setting.age(true)
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

/** The code of a contract has the selectors of a part of what is known. */
const hasInCode = (to: string, selector: string): boolean =>
  Number.parseInt(to.slice(-3), 16) % 3 === Number(selector) % 3
const codeOf = (to: string, selectors: Iterable<string>): string =>
  `0x60${[...selectors].flatMap((each) => (hasInCode(to, each) ? [`63${each.slice(2)}`] : [])).join('')}`

const standardsWith = (contractWallet: string) =>
  new Map<string, (typeof CONTRACTS)[string]>([...Object.entries(CONTRACTS), [contractWallet, 'other']])

const evmSetting = ({ rpcUrl, behave }: Node, added: readonly Known[], index: number): Setting => {
  const memory = createMemory()
  const items = added.map(addedItem)
  let isOld = false
  const chain = createEvmChain({
    ...{ row, rpcUrl },
    memory: {
      ...memory,
      readAbiItems: async ({ selectors, name }) => {
        if (isOld) throw new Error('expected no ABI to be asked for')
        const meant = new Set(items.flatMap((item) => (item.name === name ? [item.selector] : [])))
        return items.filter(({ selector }) => selectors.includes(selector as Hex) || meant.has(selector))
      },
    },
  })
  const contractWallet = chain.contractWallets?.of(account.address).address ?? null
  if (contractWallet === null) throw new Error('expected a contract wallet')
  const standards = standardsWith(contractWallet)
  for (const [address, standard] of standards) {
    memory.kept.set(address, { isContract: true, standard, name: 'x', symbol: '', decimals: 0 })
  }
  const standardOf = (to: string) => standards.get(to) ?? 'other'
  const contractsOf = (known: readonly Known[]) => ({ known: bySelector(known), standardOf, hasInCode })
  const contracts = contractsOf([...BUILT_IN, ...added])
  const age = (old: boolean) => {
    isOld = old
    behave(({ method, params: [to] }) => {
      if (method === 'eth_chainId') return { result: `0x${row.chainId.toString(16)}` }
      // Contracts that are not known beforehand have none of the functions by which a standard is recognised.
      if (!old && method === 'eth_call') return { error: { code: 3, message: 'execution reverted' } }
      if (old || method !== 'eth_getCode') return undefined
      return { result: codeOf(String(to), contracts.known.keys()) }
    })
  }
  const world: World = { family: 'evm', contractWallet, agree: (rules) => agreeOnContracts(contracts, rules) }
  const doubtful = [...contracts.known.values()].filter(({ length }) => length > 1).flat()
  // Whoever makes a policy may know one declaration alone.
  const alone = [...added, ...doubtful].map(({ item }) => contractsOf([{ item }]))
  const [right, ...mistaken] = [contracts, ...alone].map((each) => (call: Call) => readContractCall(each, call))
  const readers = [right, ...mistaken] as unknown as Readers
  const often = Array.from({ length: 12 }, () => [...added, ...doubtful]).flat()
  const functions = [...often, ...BUILT_IN].map(({ item }) => item)
  const draw = (seed: number): Case => {
    const random = randomOf(seed)
    const source = { random, functions }
    const calls = callsOf(source, [contractWallet])
    const policies = policiesFor(random, readers, calls)
    return { policies, calls: random.isLikely(30) ? attacked(source, calls) : calls }
  }
  return { name: `an EVM network with added ABIs ${index}`, chain, publicKey, world, draw, age }
}

test('on an EVM network, policies allow what the documentation says, and nothing else', async () => {
  const node = startFakeNode({})
  try {
    await holdAgainstOracle(
      ADDED.map((added, index) => evmSetting(node, added, index)),
      isLong ? 100_000 : 50,
    )
  } finally {
    await node.stop()
  }
}, 1_800_000)

const substrateSetting = (network: SubstrateNetwork, runtime: Runtime): Setting => {
  const row = substrateNetworkRow({ network, environment: 'testnet', devnet: true })
  const types = typesOf(runtime.metadata.asLatest.lookup, row.ss58Prefix)
  // Of the chain only what asks no node; the runtime is the one that a node would name.
  const chain: PolicyChain = {
    ...createNodelessSubstrateChain(row),
    feeRules: { isWithinFeeCap: () => true },
    calls: {
      by: 'metadata',
      read: async ({ to, value, input }) => {
        if (to === null) return readCall(runtime, input)
        return row.hasPrograms && input !== '0x' ? readMessage(runtime, { to, value, input }) : null
      },
    },
  }
  const read = (call: Call) => (call.to === null ? readRuntimeCall(types, call.input) : readProgramMessage(types, call))
  const world: World = { family: 'substrate', contractWallet: null, agree: () => ({ read }) }
  const draw = (seed: number): Case => {
    const source = { random: randomOf(seed), types, hasPrograms: row.hasPrograms }
    const call = runtimeUse(source)
    const policies = policiesFor(source.random, [read], [call])
    return { policies, calls: [source.random.isLikely(35) ? attackedUse(source, call) : call] }
  }
  return { name: network, chain, publicKey: new Uint8Array(32), world, draw, age: () => {} }
}

test('on a Substrate network, policies allow what the documentation says, and nothing else', async () => {
  const vara = isLong ? varaRuntime() : null
  const settings = [
    substrateSetting('Polkadot', assetHubRuntime()),
    ...(vara === null ? [] : [substrateSetting('Vara', vara)]),
  ]
  await holdAgainstOracle(settings, isLong ? 20_000 : 100)
}, 1_800_000)
