// The name under which we store a wallet that signs in:
// - an EVM key: its address (EIP-55). The key is the same on every EVM network;
// - a Substrate key: its SS58 address with prefix 0. The key is the same on every Substrate network;
// - a contract: `eip155:<chain id>:<address>` (CAIP-10), as a contract can only vouch for itself on its own chain. On another
//   chain an attacker may be able to deploy their own contract at the same address (factories that leave the owner out of
//   the salt, reused deployer keys). For the same reason a contract differs from a key with the same address.

import type { NodelessChain } from '../chains/chain.ts'
import type { Chains } from '../chains/chains.ts'
import { AppError } from '../errors.ts'

const CAIP10 = /^eip155:([1-9][0-9]{0,15}):(0x[0-9a-fA-F]{40})$/
const FIELD = 'sign_in_wallet'

/** The network of this environment with this chain id, with or without a node; null if there is none. */
export const chainWithId = ({ known }: Chains, chainId: number): NodelessChain | null =>
  known.find((chain) => chain.chainId === chainId) ?? null

/** The chain ids of this environment's networks, for an error text. */
export const chainIdsInWords = ({ known }: Chains): string =>
  known.flatMap(({ chainId, network }) => (chainId === null ? [] : [`${chainId} (${network})`])).join(', ')

/** The chain id in the name of a contract with this address; null for any other name. */
export const contractChainOf = (name: string, address: string): number | null => {
  const [, chain, contract] = CAIP10.exec(name) ?? []
  return contract === address ? Number(chain) : null
}

/** The name of a contract. @param contract.address as `parseAddress` returns it. */
export const contractWallet = (contract: { readonly chainId: number; readonly address: string }): string =>
  `eip155:${contract.chainId}:${contract.address}`

/**
 * Reads a wallet's name as a user writes it: an EVM address in lower case or with a valid checksum, an SS58 address with any
 * prefix, or a contract's CAIP-10 name. @returns the name as we store it.
 * @throws invalid_input for a chain of another environment.
 */
export const readSignInWallet = (chains: Chains, text: string): string => {
  const { parseAddress } = chains.ofFamily('evm')
  const [, chain, contract] = CAIP10.exec(text) ?? []
  if (chain !== undefined && contract !== undefined) {
    const chainId = Number(chain)
    if (chainWithId(chains, chainId) === null) {
      throw new AppError('invalid_input', `Field "${FIELD}" must name a chain of this environment's networks.`)
    }
    return contractWallet({ chainId, address: parseAddress(contract, FIELD) })
  }
  if (text.startsWith('0x')) return parseAddress(text, FIELD)
  const account = chains.ofFamily('substrate').accountOf(text)
  if (account !== null) return account
  throw new AppError(
    'address_invalid',
    `Field "${FIELD}" must be an EVM address, an SS58 address with a valid checksum, or eip155:CHAIN_ID:ADDRESS for a contract.`,
  )
}
