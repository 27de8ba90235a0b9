// The name of a wallet that signs in, under which its user is found:
// - a key of an EVM network: its address (EIP-55). It is the same key on every network;
// - a key of a Substrate network: its SS58 address with prefix 0, likewise;
// - a contract: `eip155:<chain id>:<address>` (CAIP-10). A contract's word counts on its own chain alone: on another chain
//   an attacker may bring a contract of their own to the same address (factories that leave the owner out of the salt,
//   deployers' keys used again), and must not come in as its user. Nor is a contract the key of the same address.

import type { NodelessChain } from '../chains/chain.ts'
import type { Chains } from '../chains/chains.ts'
import { AppError } from '../errors.ts'

const CAIP10 = /^eip155:([1-9][0-9]{0,15}):(0x[0-9a-fA-F]{40})$/
const FIELD = 'sign_in_wallet'

/** Of the networks of this environment, whether or not it has a node; null for any other chain. */
export const chainWithId = ({ known }: Chains, chainId: number): NodelessChain | null =>
  known.find((chain) => chain.chainId === chainId) ?? null

/** The chain ids of this environment's networks, in words. */
export const chainIdsInWords = ({ known }: Chains): string =>
  known.flatMap(({ chainId, network }) => (chainId === null ? [] : [`${chainId} (${network})`])).join(', ')

/** The chain id in the name of a contract with this address; null for any other name. */
export const contractChainOf = (name: string, address: string): number | null => {
  const [, chain, contract] = CAIP10.exec(name) ?? []
  return contract === address ? Number(chain) : null
}

/** Of a contract; its address as `parseAddress` returns it. */
export const contractWallet = (contract: { readonly chainId: number; readonly address: string }): string =>
  `eip155:${contract.chainId}:${contract.address}`

/**
 * The name of a wallet as its user writes it: an EVM address in lower case or with a valid checksum, an SS58 address with
 * any prefix, or a contract's CAIP-10 name.
 * @throws address_invalid, invalid_input (a chain of another environment).
 */
export const readSignInWallet = (chains: Chains, text: string): string => {
  const { parseAddress } = chains.ofFamily('evm')
  const [, chain, contract] = CAIP10.exec(text) ?? []
  if (chain !== undefined && contract !== undefined) {
    const chainId = Number(chain)
    if (chainWithId(chains, chainId) === null) {
      throw new AppError('invalid_input', `Field "${FIELD}" names a chain that is none of this environment's networks.`)
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
