// The name under which we store a wallet that signs in:
// - an EVM key: its address (EIP-55). The key is the same on every EVM network;
// - a Substrate key: its SS58 address with prefix 0. The key is the same on every Substrate network;
// - a contract: `eip155:<chain id>:<address>` (CAIP-10), as a contract can only vouch for itself on its own chain. On another
//   chain an attacker may be able to deploy their own contract at the same address (factories that leave the owner out of
//   the salt, reused deployer keys). For the same reason a contract differs from a key with the same address.

import type { NodelessChain } from '../../chains/chain.ts'
import type { Chains } from '../../chains/chains.ts'
import { AppError } from '../../platform/errors.ts'

const CAIP10 = /^eip155:([1-9][0-9]{0,15}):(0x[0-9a-fA-F]{40})$/
const FIELD = 'sign_in_wallet'

type Known = Pick<Chains, 'known'>

/**
 * A network of this environment with this chain id, with or without a node. With null as the id: a network whose accounts are the
 * same on every chain. undefined if there is none.
 */
export const chainWithId = ({ known }: Known, chainId: number | null): NodelessChain | undefined =>
  known.find((chain) => chain.chainId === chainId)

/** The chain ids of this environment's networks, for an error text. */
export const chainIdsInWords = ({ known }: Known): string =>
  known.flatMap(({ chainId, network }) => (chainId === null ? [] : [`${chainId} (${network})`])).join(', ')

/** The chain id in the name of a contract with this address; null for any other name. */
export const contractChainOf = (name: string, address: string): number | null => {
  const [, chain, contract] = CAIP10.exec(name) ?? []
  return contract === address ? Number(chain) : null
}

/**
 * Reads a wallet's name as a user writes it: an EVM address in lower case or with a valid checksum, an SS58 address with any
 * prefix, or a contract's CAIP-10 name. @returns the name as we store it.
 * @throws invalid_input for a chain of another environment.
 */
export const readSignInWallet = (chains: Known, text: string): string => {
  const [, chainId, contract] = CAIP10.exec(text) ?? []
  if (chainId !== undefined && contract !== undefined) {
    const chain = chainWithId(chains, Number(chainId))
    const name = chain?.contractSigner(chain.parseAddress(contract, FIELD))
    if (name) return name
    throw new AppError('invalid_input', `Field "${FIELD}" must name a chain of this environment's networks.`)
  }
  for (const chain of chains.known) {
    const account = chain.accountOf(text)
    if (account !== null) return account
  }
  throw new AppError(
    'address_invalid',
    `Field "${FIELD}" must be an EVM address in one case or with a valid checksum, an SS58 address with a valid checksum, or eip155:CHAIN_ID:ADDRESS for a contract.`,
  )
}
