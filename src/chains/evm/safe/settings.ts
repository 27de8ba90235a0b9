// The settings of contract wallets: SafeL2 1.4.1 behind a proxy, one owner, threshold 1, the canonical fallback
// handler, no set-up call, salt nonce 0. Safe's contracts have the same addresses on all networks and testnets here,
// and CREATE2 hashes nothing that differs between them. So a wallet has the same address on each network.

import {
  concat,
  encodeAbiParameters,
  encodeFunctionData,
  getContractAddress,
  isAddress,
  keccak256,
  pad,
  parseAbi,
  toHex,
} from 'viem/utils'
import type { Hex, Intent } from '../../chain.ts'
import type { ContractWallet } from '../../contract-wallets.ts'
import { hexText } from '../../node/wire.ts'
import { ZERO_ADDRESS } from '../address.ts'
import type { Overrides } from '../simulate.ts'

/** Canonical deployments of Safe 1.4.1 (github.com/safe-global/safe-deployments, src/assets/v1.4.1). */
export const SAFE_ADDRESSES = {
  singleton: '0x29fcB43b46531BcA003ddC8FCB67FFE91900C762',
  proxyFactory: '0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67',
  fallbackHandler: '0xfd0732Dc9E303f09fCEf3a7388Ad10A83459Ec99',
  multiSendCallOnly: '0x9641d764fc13c8B624c04430C7356C1C7C8102e2',
  createCall: '0x9b35Af71d77eaf8d7e40252370304687390A1A52',
} as const

/** keccak256(SafeProxy's creation code ‖ uint256(singleton)), from `@safe-global/safe-contracts` 1.4.1. */
export const PROXY_INIT_CODE_HASH: Hex = '0xe298282cefe913ab5d282047161268a8222e4bd4ed106300c547894bbefd31ee'

const SALT_NONCE = 0n

const SETUP = parseAbi([
  'function setup(address[] owners, uint256 threshold, address to, bytes data, address fallbackHandler, address paymentToken, uint256 payment, address paymentReceiver)',
])
const FACTORY = parseAbi([
  'function createProxyWithNonce(address singleton, bytes initializer, uint256 saltNonce) returns (address proxy)',
])

const encodeSetup = (owner: Hex): Hex =>
  encodeFunctionData({
    abi: SETUP,
    args: [
      [owner],
      1n,
      ...([ZERO_ADDRESS, '0x', SAFE_ADDRESSES.fallbackHandler] as const),
      ...([ZERO_ADDRESS, 0n, ZERO_ADDRESS] as const),
    ],
  })

/** Only the owner differs, so all else is encoded once: each call that is judged asks for its signer's Safe. */
const ANY_OWNER = 'aa'.repeat(20)
const SETUP_OF_ANY = encodeSetup(`0x${ANY_OWNER}`)
const SALT_END = toHex(SALT_NONCE, { size: 32 })

const encodeInitializer = (owner: string): Hex => {
  if (!isAddress(owner)) throw new Error('expected the address of an owner')
  return hexText(SETUP_OF_ANY.replace(ANY_OWNER, owner.slice(2).toLowerCase()))
}

/** The Safe of an owner, deployed or not; checksummed. Pure. */
export const deriveContractWallet = (owner: string): ContractWallet => {
  const address = getContractAddress({
    opcode: 'CREATE2',
    from: SAFE_ADDRESSES.proxyFactory,
    salt: keccak256(concat([keccak256(encodeInitializer(owner)), SALT_END])),
    bytecodeHash: PROXY_INIT_CODE_HASH,
  })
  return { address, owner }
}

/** Call data for the proxy factory. Pure. */
export const deploymentData = ({ owner }: ContractWallet): Hex =>
  encodeFunctionData({ abi: FACTORY, args: [SAFE_ADDRESSES.singleton, encodeInitializer(owner), SALT_NONCE] })

/** The factory creates the wallet and sets it up in one call, so no other account can set it up. Pure. */
export const deployment = (wallet: ContractWallet): Intent => ({
  to: SAFE_ADDRESSES.proxyFactory,
  value: 0n,
  input: deploymentData(wallet),
})

// The storage slots of a Safe 1.4.1 that decide who controls it (libraries/SafeStorage.sol, and the managers' own
// slots), and the code of its proxy. A deployed wallet is compared with them; one without code is simulated with them.

/** SafeProxy's deployed code, from `@safe-global/safe-contracts` 1.4.1 (proxies/SafeProxy.sol). */
export const PROXY_CODE: Hex =
  '0x608060405273ffffffffffffffffffffffffffffffffffffffff600054167fa619486e0000000000000000000000000000000000000000000000000000000060003514156050578060005260206000f35b3660008037600080366000845af43d6000803e60008114156070573d6000fd5b3d6000f3fea264697066735822122003d1488ee65e08fa41e58e888a9865554c535f2c77126a82cb4c0f917f31441364736f6c63430007060033'

/** The head of the linked lists of owners and of modules. */
export const SENTINEL = '0x0000000000000000000000000000000000000001'

const slot = (index: number): Hex => toHex(index, { size: 32 })

export const SLOTS = {
  singleton: slot(0),
  ownerCount: slot(3),
  threshold: slot(4),
  /** keccak256("guard_manager.guard.address") */
  guard: '0x4a204f620c8c5ccdca3fd54d003badd85ba500436a431f0cbda4f558c93c34c8',
  /** keccak256("fallback_manager.handler.address") */
  fallbackHandler: '0x6c9a6c4a39284e37ed1cf53d337577d14212a4870fb976a4366c693b939918d5',
} as const

const MODULES_SLOT = 1n
const OWNERS_SLOT = 2n

/** The slot of a mapping's entry (Solidity, "Layout of State Variables in Storage"). */
const entry = (mapping: bigint, key: string): Hex =>
  keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [hexText(key), mapping]))

const word = (address: string): Hex => pad(hexText(address.toLowerCase()), { size: 32 })

/** Lets a node simulate as if the wallet were deployed. Pure. */
export const asDeployed = ({ address, owner }: ContractWallet): Overrides => ({
  [address]: {
    code: PROXY_CODE,
    // EIP-161: a contract begins with nonce 1.
    nonce: 1,
    stateDiff: {
      [SLOTS.singleton]: word(SAFE_ADDRESSES.singleton),
      [entry(MODULES_SLOT, SENTINEL)]: word(SENTINEL),
      [entry(OWNERS_SLOT, SENTINEL)]: word(owner),
      [entry(OWNERS_SLOT, owner)]: word(SENTINEL),
      [SLOTS.ownerCount]: slot(1),
      [SLOTS.threshold]: slot(1),
      [SLOTS.fallbackHandler]: word(SAFE_ADDRESSES.fallbackHandler),
    },
  },
})
