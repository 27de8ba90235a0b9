// The storage slots of a Safe 1.4.1 that decide who controls it (libraries/SafeStorage.sol, and the managers' own slots), and
// the code of its proxy. A deployed wallet is compared with them; a wallet without code is simulated with them.

import { encodeAbiParameters, keccak256, pad, toHex } from 'viem'
import type { Hex } from '../../chain.ts'
import type { ContractWallet } from '../../contract-wallets.ts'
import { hexText } from '../../node/wire.ts'
import type { Overrides } from '../simulate.ts'
import { SAFE_ADDRESSES } from './settings.ts'

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
