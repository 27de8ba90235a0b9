// Logging in with a wallet: a message of EIP-4361 for this page, signed by the browser's wallet (EIP-1193, EIP-191).

import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { Told } from './words.ts'

type Provider = { readonly request: (call: { method: string; params?: readonly unknown[] }) => Promise<unknown> }

export const providerOf = (page: object): Provider | null => {
  const provider: unknown = 'ethereum' in page ? page.ethereum : null
  const isProvider = typeof provider === 'object' && provider !== null && 'request' in provider
  return isProvider ? (provider as Provider) : null
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** Some wallets tell their address in lower case; EIP-4361 wants the checksum of EIP-55. */
const withChecksum = (address: string): string => {
  const digits = address.slice(2).toLowerCase()
  const digest = bytesToHex(keccak_256(utf8ToBytes(digits)))
  return `0x${[...digits].map((digit, at) => (Number.parseInt(digest[at] ?? '0', 16) >= 8 ? digit.toUpperCase() : digit)).join('')}`
}

/** EIP-1193 §"Provider Errors"; others are the wallet's own. */
const USER_REJECTED = 4001

const asked = async (provider: Provider, method: string, params: readonly unknown[] = []): Promise<unknown> => {
  try {
    return await provider.request({ method, params })
  } catch (error) {
    throw new Told(
      Object(error).code === USER_REJECTED
        ? 'The wallet was asked, and you declined.'
        : 'The wallet did not answer as it should. Unlock it, and try again.',
    )
  }
}

/** The wallet's chosen address, with its checksum. */
export const addressOf = async (provider: Provider): Promise<string> => {
  const accounts = await asked(provider, 'eth_requestAccounts')
  const address: unknown = Array.isArray(accounts) ? accounts[0] : null
  if (typeof address !== 'string' || !ADDRESS.test(address)) throw new Told('The wallet has no account to log in with.')
  return withChecksum(address)
}

const LIFETIME_MS = 300_000
/** What EIP-4361 lets a statement be made of, less the quotes. */
const STATEMENT = /^[A-Za-z0-9 .,:;!?()&+_-]{1,100}$/

const messageOf = (input: {
  readonly address: string
  readonly nonce: string
  readonly chainId: number
  readonly projectName: string
}): string => {
  const { address, nonce, chainId, projectName } = input
  const now = Date.now()
  return [
    `${location.host} wants you to sign in with your Ethereum account:`,
    address,
    '',
    `Log in${STATEMENT.test(projectName) ? ` to ${projectName}` : ''}.`,
    '',
    `URI: ${location.origin}${location.pathname}`,
    'Version: 1',
    `Chain ID: ${chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${new Date(now).toISOString()}`,
    `Expiration Time: ${new Date(now + LIFETIME_MS).toISOString()}`,
  ].join('\n')
}

/** A message that says who wants to log in where, and the wallet's signature of it. */
export const signIn = async (
  provider: Provider,
  input: {
    readonly address: string
    readonly nonce: string
    readonly projectName: string
    readonly chainIds: readonly number[]
  },
): Promise<{ readonly siwe_message: string; readonly signature: string }> => {
  const current = Number(await asked(provider, 'eth_chainId'))
  // A key is the same on all chains; a contract speaks on its own alone, and is refused on another.
  const chainId = input.chainIds.find((each) => each === current) ?? input.chainIds[0] ?? current
  const message = messageOf({ ...input, chainId })
  const bytes = `0x${bytesToHex(utf8ToBytes(message))}`
  return { siwe_message: message, signature: String(await asked(provider, 'personal_sign', [bytes, input.address])) }
}
