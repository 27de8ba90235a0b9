// Login with a wallet: an EIP-4361 message for this page, signed by a wallet of the browser (EIP-1193, EIP-191).
// Wallets announce themselves (EIP-6963); an older one only puts itself at `window.ethereum`, where the last one wins.

import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { UserMessage } from './wire.ts'

type Provider = { readonly request: (call: { method: string; params?: readonly unknown[] }) => Promise<unknown> }

/** A wallet of this browser. Its name is its own text. */
export type Wallet = { readonly name: string; readonly provider: Provider }

const NAME_CHARACTERS_MAX = 40
const WALLETS_MAX = 20

const isProvider = (value: unknown): value is Provider =>
  typeof value === 'object' && value !== null && 'request' in value

const announced = new Map<string, Wallet>()

/** Each extension may announce anything, so what is incomplete is left out. */
const note = (event: Event): void => {
  const { info, provider }: { readonly info?: unknown; readonly provider?: unknown } = Object(
    event instanceof CustomEvent ? event.detail : null,
  )
  const { uuid, name }: { readonly uuid?: unknown; readonly name?: unknown } = Object(info)
  if (typeof uuid !== 'string' || typeof name !== 'string' || name.trim() === '' || !isProvider(provider)) return
  if (announced.size < WALLETS_MAX) announced.set(uuid, { name: name.slice(0, NAME_CHARACTERS_MAX), provider })
}

/** Asks the wallets of this browser to announce themselves, now and when one loads later. */
export const watchWallets = (onChange: () => void): void => {
  window.addEventListener('eip6963:announceProvider', (event) => {
    note(event)
    onChange()
  })
  // Some that do not announce themselves load later, and send this event.
  window.addEventListener('ethereum#initialized', onChange)
  window.dispatchEvent(new Event('eip6963:requestProvider'))
  onChange()
}

export const wallets = (): readonly Wallet[] => {
  const known = [...announced.values()]
  const provider: unknown = 'ethereum' in window ? window.ethereum : null
  const isOther = isProvider(provider) && known.every((each) => each.provider !== provider)
  return isOther ? [...known, { name: 'Another wallet of this browser', provider }] : known
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** Some wallets return their address in lower case, but EIP-4361 requires the EIP-55 checksum. */
const withChecksum = (address: string): string => {
  const digits = address.slice(2).toLowerCase()
  const digest = bytesToHex(keccak_256(utf8ToBytes(digits)))
  return `0x${[...digits].map((digit, at) => (Number.parseInt(digest[at] ?? '0', 16) >= 8 ? digit.toUpperCase() : digit)).join('')}`
}

/** EIP-1193 §"Provider Errors"; other codes differ between wallets. */
const USER_REJECTED = 4001

const request = async (provider: Provider, method: string, params: readonly unknown[] = []): Promise<unknown> => {
  try {
    return await provider.request({ method, params })
  } catch (error) {
    throw new UserMessage(
      Object(error).code === USER_REJECTED
        ? 'You declined in your wallet.'
        : 'The wallet did not answer correctly. Unlock it, and try again.',
    )
  }
}

export const addressOf = async (provider: Provider): Promise<string> => {
  const accounts = await request(provider, 'eth_requestAccounts')
  const address: unknown = Array.isArray(accounts) ? accounts[0] : null
  if (typeof address !== 'string' || !ADDRESS.test(address))
    throw new UserMessage('The wallet has no account to log in with.')
  return withChecksum(address)
}

const LIFETIME_MS = 300_000
/** The characters that EIP-4361 allows in a statement, without quotes. */
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

export const signIn = async (
  provider: Provider,
  input: {
    readonly address: string
    readonly nonce: string
    readonly projectName: string
    readonly chainIds: readonly number[]
  },
): Promise<{ readonly siwe_message: string; readonly signature: string }> => {
  const current = Number(await request(provider, 'eth_chainId'))
  // An account's key is the same on all chains. A contract wallet exists on one chain, and is refused on another.
  const chainId = input.chainIds.find((each) => each === current) ?? input.chainIds[0] ?? current
  const message = messageOf({ ...input, chainId })
  const bytes = `0x${bytesToHex(utf8ToBytes(message))}`
  return { siwe_message: message, signature: String(await request(provider, 'personal_sign', [bytes, input.address])) }
}
