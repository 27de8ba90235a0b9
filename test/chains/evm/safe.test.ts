import { bytesToSign } from '../../../src/vault/rooms/keys/payloads.ts'
// Contract wallets without a chain: their addresses and their call data.

import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import {
  calculateSafeMessageHash,
  calculateSafeTransactionHash,
  encodeMultiSendData,
  generatePreValidatedSignature,
  hashSafeMessage,
} from '@safe-global/protocol-kit'
import {
  getCompatibilityFallbackHandlerDeployment,
  getCreateCallDeployment,
  getMultiSendCallOnlyDeployment,
  getProxyFactoryDeployment,
  getSafeL2SingletonDeployment,
} from '@safe-global/safe-deployments'
import fc from 'fast-check'
import {
  concat,
  decodeFunctionData,
  encodeFunctionData,
  encodePacked,
  getAddress,
  keccak256,
  pad,
  parseAbi,
  stringToHex,
  toHex,
  verifyMessage,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Hex, Intent } from '../../../src/chains/chain.ts'
import { createdBy, executedBy, isFailedWithin } from '../../../src/chains/evm/delivery.ts'
import { keyMessage } from '../../../src/chains/evm/messages.ts'
import { deployAndExecute } from '../../../src/chains/evm/safe/deploy-and-execute.ts'
import { callsOf, executed, execution, executionData, multiSendData } from '../../../src/chains/evm/safe/execution.ts'
import { contractMessage } from '../../../src/chains/evm/safe/safe.ts'
import {
  deriveContractWallet,
  PROXY_CODE,
  PROXY_INIT_CODE_HASH,
  SAFE_ADDRESSES,
  SLOTS,
} from '../../../src/chains/evm/safe/settings.ts'
import { EVM_NETWORKS, evmNetworkRow } from '../../../src/platform/networks.ts'
import { roundsOf } from '../../support/long.ts'
import { signedBy } from './signing.ts'

const account = privateKeyToAccount(keccak256(stringToHex('owner of a Safe')))
const wallet = deriveContractWallet(account.address)
const other = getAddress(`0x${'ab'.repeat(20)}`)
const CHAIN_IDS = EVM_NETWORKS.flatMap((network) =>
  (['testnet', 'mainnet'] as const).map(
    (environment) => evmNetworkRow({ network, environment, devnet: false }).chainId,
  ),
)

const EXEC = parseAbi([
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures) payable returns (bool success)',
])
const signatureIn = (input: Hex): Hex => decodeFunctionData({ abi: EXEC, data: input }).args[9]

describe('the Safe of a contract wallet', () => {
  test('uses the contracts that Safe publishes, on all networks and their testnets', () => {
    const published = {
      singleton: getSafeL2SingletonDeployment,
      proxyFactory: getProxyFactoryDeployment,
      fallbackHandler: getCompatibilityFallbackHandlerDeployment,
      multiSendCallOnly: getMultiSendCallOnlyDeployment,
      createCall: getCreateCallDeployment,
    }
    expect(CHAIN_IDS).toHaveLength(2 * EVM_NETWORKS.length)
    for (const chainId of CHAIN_IDS) {
      for (const [name, deploymentOf] of Object.entries(published)) {
        const at = deploymentOf({ version: '1.4.1', network: String(chainId) })?.networkAddresses[chainId]
        expect([chainId, name, at]).toEqual([chainId, name, SAFE_ADDRESSES[name as keyof typeof SAFE_ADDRESSES]])
      }
    }
  })

  test('has the code of the proxy in Safe’s own artifact, and its storage', () => {
    const url = import.meta.resolve(
      '@safe-global/safe-contracts/build/artifacts/contracts/proxies/SafeProxy.sol/SafeProxy.json',
    )
    const artifact: { readonly bytecode: Hex; readonly deployedBytecode: Hex } = JSON.parse(
      readFileSync(new URL(url), 'utf8'),
    )
    expect(PROXY_CODE).toBe(artifact.deployedBytecode)
    expect(PROXY_INIT_CODE_HASH).toBe(
      keccak256(concat([artifact.bytecode, pad(SAFE_ADDRESSES.singleton, { size: 32 })])),
    )
    expect<Hex>(SLOTS.guard).toBe(keccak256(stringToHex('guard_manager.guard.address')))
    expect<Hex>(SLOTS.fallbackHandler).toBe(keccak256(stringToHex('fallback_manager.handler.address')))
  })
})

const hexArbitrary = (maxLength: number) => fc.uint8Array({ maxLength }).map((data): Hex => toHex(data))
const addressArbitrary = fc.oneof(
  fc.uint8Array({ minLength: 20, maxLength: 20 }).map((data) => getAddress(toHex(data))),
  fc.constantFrom(...Object.values(SAFE_ADDRESSES), wallet.address, account.address),
)
const valueArbitrary = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })
const callArbitrary: fc.Arbitrary<Intent> = fc.record({
  to: addressArbitrary,
  value: valueArbitrary,
  input: hexArbitrary(100),
})
const creationArbitrary: fc.Arbitrary<Intent> = fc.record({
  to: fc.constant(null),
  value: valueArbitrary,
  input: hexArbitrary(100),
})
const intentsArbitrary = fc.oneof(
  fc.array(callArbitrary, { minLength: 1, maxLength: 5 }),
  creationArbitrary.map((creation) => [creation]),
)

describe('the call data of an execution', () => {
  const pay: Intent = { to: other, value: 5n, input: '0x' }
  const creation: Intent = { to: null, value: 0n, input: '0x6001' }

  test('can be decoded again, for any intents', () => {
    fc.assert(
      fc.property(intentsArbitrary, addressArbitrary, (intents, owner) => {
        const { to, value, input } = execution(deriveContractWallet(owner), intents)
        expect([to, value]).toEqual([deriveContractWallet(owner).address, 0n])
        expect(executed(input)).toEqual(intents)
      }),
      { seed: 7, numRuns: roundsOf(100) },
    )
  })

  test('is decoded only if it is byte for byte what we encode', () => {
    const flip = (input: Hex, at: number, by: number): Hex => {
      const data = Buffer.from(input.slice(2), 'hex')
      const index = at % data.length
      data[index] = (data[index] ?? 0) ^ by
      return toHex(data)
    }
    const change = fc.record({ at: fc.nat(), by: fc.integer({ min: 1, max: 255 }) })
    fc.assert(
      fc.property(intentsArbitrary, change, (intents, { at, by }) => {
        const changed = flip(execution(wallet, intents).input, at, by)
        const read = executed(changed)
        if (read === null) return
        const owner = getAddress(`0x${signatureIn(changed).slice(26, 66)}`)
        expect(execution(deriveContractWallet(owner), read).input).toBe(changed)
      }),
      { seed: 7, numRuns: roundsOf(300) },
    )
  })

  test('is not decoded from similar call data', () => {
    const { input } = execution(wallet, [pay])
    const signatures = signatureIn(input)
    const told = { to: other, value: 5n, data: '0x', operation: 0 } as const
    const bySafe = (change: object): Hex => executionData({ ...told, ...change }, { safeTxGas: 0n, signatures })
    expect(executed(bySafe({}))).toEqual([pay])
    const several = { to: SAFE_ADDRESSES.multiSendCallOnly, value: 0n, operation: 1 } as const
    const element = { to: other, value: 5n, data: '0x' } as const
    const packed = (data: Hex): Hex =>
      encodeFunctionData({ abi: parseAbi(['function multiSend(bytes transactions) payable']), args: [data] })
    const head = (length: bigint, operation = 0): Hex =>
      encodePacked(['uint8', 'address', 'uint256', 'uint256'], [operation, other, 5n, length])
    const inputs: readonly Hex[] = [
      '0x',
      '0x6a761202',
      `${input}00`,
      `0x${input.slice(2, -2)}`,
      executionData(told, { safeTxGas: 1n, signatures }),
      executionData(told, { safeTxGas: 0n, signatures: `0x${'11'.repeat(65)}` }),
      executionData(told, { safeTxGas: 0n, signatures: '0x' }),
      encodeFunctionData({
        abi: EXEC,
        args: [other, 5n, '0x', 0, 0n, 0n, 1n, other, other, signatures],
      }),
      bySafe({ operation: 1 }),
      bySafe({ ...several, data: multiSendData([element]) }),
      bySafe({ ...several, data: multiSendData([]) }),
      bySafe({ ...several, value: 1n, data: multiSendData([element, element]) }),
      bySafe({ ...several, data: packed(concat([head(0n), head(0n, 1)])) }),
      bySafe({ ...several, data: packed(concat([head(0n), head(1n)])) }),
      bySafe({ ...several, data: packed(concat([head(0n), head(2n ** 256n - 1n)])) }),
      bySafe({ ...several, data: packed(concat([head(0n), '0x00'])) }),
      bySafe({ ...several, to: SAFE_ADDRESSES.createCall, data: multiSendData([element, element]) }),
    ]
    for (const each of inputs) expect([each, executed(each)]).toEqual([each, null])
  })

  test('is not read in a batch with an element that is no call, as the Safe encodes it', () => {
    const batchOf = (...operations: readonly number[]) => {
      const elements = operations.map((operation) => ({ to: other, value: '5', data: '0xab', operation }))
      const data = encodeFunctionData({
        abi: parseAbi(['function multiSend(bytes transactions) payable']),
        args: [encodeMultiSendData(elements) as Hex],
      })
      return callsOf({ to: SAFE_ADDRESSES.multiSendCallOnly, value: 0n, data, operation: 1 })
    }
    const read = { to: other, value: 5n, input: '0xab' } as const
    expect(batchOf(0, 0)).toEqual([read, read])
    for (const operations of [[1], [0, 1], [1, 0], [2], [255]]) expect(batchOf(...operations)).toBeNull()
  })

  test('keeps the gas, fees and nonce that the first intent fixed', () => {
    const fixed = { gasLimit: 90_000n, maxFeePerGas: 3n, maxPriorityFeePerGas: 1n, nonce: 4 }
    expect(
      execution(wallet, [
        { ...pay, ...fixed },
        { ...pay, nonce: 9 },
      ]),
    ).toMatchObject(fixed)
    expect(Object.keys(execution(wallet, [pay])).toSorted()).toEqual(['input', 'to', 'value'])
    const outer = deployAndExecute(1, wallet, { intents: [{ ...pay, ...fixed }], gas: 1n })
    expect(outer.with(new Uint8Array(65).fill(1))).toMatchObject({ to: SAFE_ADDRESSES.multiSendCallOnly, ...fixed })
  })

  test('refuses a creation among several intents, and an empty list', () => {
    const refused = /"unsigned_transactions\.1\.to"/
    expect(() => execution(wallet, [pay, creation])).toThrow(refused)
    expect(() => deployAndExecute(1, wallet, { intents: [pay, creation], gas: 1n })).toThrow(refused)
    expect(() => execution(wallet, [])).toThrow('at least one intent')
    expect(() => deployAndExecute(1, wallet, { intents: [pay], gas: 0n })).toThrow('expected gas')
  })

  test('has the approval by the sender that Safe’s own tools make', () => {
    const approval = generatePreValidatedSignature(account.address).staticPart()
    expect(signatureIn(execution(wallet, [pay]).input)).toBe(approval.toLowerCase() as Hex)
  })
})

describe('the signature of an owner', () => {
  const pay: Intent = { to: other, value: 5n, input: '0x1234' }

  test('is over the digest that Safe’s own tools compute, which differs for each chain', () => {
    const digests = CHAIN_IDS.flatMap((chainId) => {
      const { payload } = deployAndExecute(chainId, wallet, { intents: [pay], gas: 77n })
      const none = '0x0000000000000000000000000000000000000000'
      const told = { to: other, value: '5', data: '0x1234', operation: 0, safeTxGas: '77', nonce: 0 }
      const rest = { baseGas: '0', gasPrice: '0', gasToken: none, refundReceiver: none }
      const expected = calculateSafeTransactionHash(wallet.address, { ...told, ...rest }, '1.4.1', BigInt(chainId))
      expect(toHex(bytesToSign('evm', payload))).toBe(expected as Hex)
      const message = contractMessage(chainId, wallet, { message: Buffer.from('Hello'), isDeployed: true })
      expect(toHex(bytesToSign('evm', message.payload))).toBe(
        calculateSafeMessageHash(wallet.address, hashSafeMessage('Hello'), '1.4.1', BigInt(chainId)) as Hex,
      )
      return [payload, message.payload].map((each) => toHex(bytesToSign('evm', each)))
    })
    expect(new Set(digests).size).toBe(2 * CHAIN_IDS.length)
  })

  test('is over EIP-191’s digest for a message of its own address, also for bytes that are no text', async () => {
    for (const raw of [Buffer.from('Grüße'), new Uint8Array(), Uint8Array.of(0xff, 0x00, 0xfe)]) {
      const signature = await signedBy(account, keyMessage(raw))
      expect(signature).toBe(await account.signMessage({ message: { raw } }))
      expect(await verifyMessage({ address: account.address, message: { raw }, signature })).toBe(true)
    }
  })

  test('must be r, s and a recovery id', () => {
    const { with: finish } = keyMessage(new Uint8Array())
    expect(() => finish(new Uint8Array(64))).toThrow('65 bytes')
    expect(() => finish(new Uint8Array(65).fill(27))).toThrow('recovery id')
  })
})

describe('the logs of an execution', () => {
  const safe = getAddress(`0x${'5a'.repeat(20)}`)
  const raw = (address: string) => address.toLowerCase() as Hex
  const word = `0x${'00'.repeat(32)}` as const
  // keccak256 of ExecutionSuccess(bytes32,uint256), ContractCreation(address) and ExecutionFailure(bytes32,uint256).
  const SUCCESS = '0x442e715f626346e8c54381002da614f62bee8d27386535b2521ec8540898556e'
  const CREATION = '0x4db17dd5e4732fb6da34a148104a592783ca119a1e7bb8829eba6cbadef0b511'
  const FAILURE = '0x23428b18acfb3ea64b08dc0c1d296ea9c09702c09083ca5272e64d115b687d23'
  const success = { address: raw(safe), topics: [SUCCESS, word], data: word } as const
  const failure = { ...success, topics: [FAILURE, word] } as const
  const { multiSendCallOnly } = SAFE_ADDRESSES
  const creation = (address: string) =>
    ({ address: raw(address), topics: [CREATION, pad(raw(other), { size: 32 })], data: '0x' }) as const

  test('show which Safes executed, for version 1.4.1 and older ones', () => {
    const older = { address: raw(other), topics: [SUCCESS], data: concat([word, word]) } as const
    expect(executedBy([success, older, success])).toEqual([safe, other])
    const others = [
      failure,
      { ...success, topics: [] },
      { ...success, topics: [SUCCESS] },
      { ...success, topics: [SUCCESS, word, word], data: '0x' },
      { ...older, data: word },
    ] as const
    expect(executedBy(others)).toEqual([])
  })

  test('show which contract a Safe created, if there is exactly one', () => {
    for (const to of [safe, multiSendCallOnly]) {
      expect(createdBy(to, [success, creation(safe)])).toBe(other)
      expect(createdBy(to, [success, creation(other)])).toBeNull()
      expect(createdBy(to, [creation(safe)])).toBeNull()
      expect(createdBy(to, [success, creation(safe), creation(safe)])).toBeNull()
      expect(createdBy(to, [success])).toBeNull()
    }
  })

  test('show no creation and no failure if another contract emits the same events', () => {
    const within = { ...success, address: raw(other) }
    for (const to of [safe, null]) {
      expect(createdBy(to, [success, within, creation(other)])).toBeNull()
      expect(isFailedWithin(to, [success, { ...failure, address: raw(other) }])).toBe(false)
    }
  })

  test('show whether the execution failed within', () => {
    for (const to of [safe, multiSendCallOnly]) {
      expect(isFailedWithin(to, [failure])).toBe(true)
      expect(isFailedWithin(to, [success])).toBe(false)
    }
  })
})
