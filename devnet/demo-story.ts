// Shared by the demo's steps: the service as a client sees it, the chains as their nodes report them, and earlier
// results.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Address, createPublicClient, type Hex, http, isAddressEqual, isHex } from 'viem'
import type { Network } from '../db/words.ts'
import type { DevJson } from './dev-json.ts'
import { EVM_NAMES } from './networks.ts'
import { callRpcForString } from './rpc.ts'

export type Story = ReturnType<typeof storyOf>

export type DemoStep = {
  readonly title: string
  /** Runs and checks the step. @returns its row of the final table. @throws Error with what was wrong */
  readonly run: (story: Story) => Promise<string>
}

export const NETWORK = 'Ethereum'
export const PIN = '493817'
export const RECIPIENT: Address = '0x000000000000000000000000000000000000dEaD'

const WAIT_MS = 30_000
const POLL_MS = 100

/** @throws Error with the sentence if the claim is false. */
export function hold(claim: boolean, sentence: string): asserts claim {
  if (!claim) throw new Error(sentence)
}

type Json = { readonly [key: string]: unknown }

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** The text at a path of an answer. */
export const textAt = (value: unknown, ...path: readonly (string | number)[]): string => {
  let at: unknown = value
  for (const key of path) at = isJson(at) ? at[key] : undefined
  hold(typeof at === 'string', `The answer has no text at ${path.join('.')}: ${JSON.stringify(value)}`)
  return at
}

export const addressAt = (value: unknown, ...path: readonly (string | number)[]): Address =>
  textAt(value, ...path) as Address

export const short = (text: string): string => (text.length > 14 ? `${text.slice(0, 8)}…${text.slice(-4)}` : text)

/** The service as a client sees it. */
const clientOf = (dev: DevJson) => {
  const answerOf = async (path: string, init: RequestInit) => {
    const response = await fetch(dev.base_url + path, {
      ...init,
      headers: {
        authorization: `Bearer ${dev.api_key}`,
        'x-walletkit-project-id': dev.project_id,
        'content-type': 'application/json',
      },
    })
    return { status: response.status, text: await response.text() }
  }
  const call = async (path: string, init: RequestInit): Promise<unknown> => {
    const { status, text } = await answerOf(path, init)
    hold(status === 200, `${path} answered ${status}: ${text}`)
    return JSON.parse(text)
  }
  const get = (path: string, query: Record<string, string>) => call(`${path}?${new URLSearchParams(query)}`, {})
  const post = (path: string, body: Json) => call(path, { method: 'POST', body: JSON.stringify(body) })

  /** @returns the refusal. @throws Error if the call succeeds. */
  const refused = async (path: string, body: Json) => {
    const { status, text } = await answerOf(path, { method: 'POST', body: JSON.stringify(body) })
    hold(status >= 400, `${path} was not refused: ${text}`)
    const answer: unknown = JSON.parse(text)
    return { status, code: textAt(answer, 'code'), error: textAt(answer, 'error') }
  }

  /** Polls until the transaction has succeeded. @returns its status. */
  const succeeded = async (submitted: unknown): Promise<unknown> => {
    const id = textAt(submitted, 'transaction_id')
    const deadline = Date.now() + WAIT_MS
    for (;;) {
      const status = await get('/transactions/status-by-id', { id })
      const word = textAt(status, 'status')
      hold(word !== 'failed', `The transaction failed: ${JSON.stringify(status)}`)
      if (word === 'success') return status
      hold(Date.now() < deadline, `The transaction is still ${word}.`)
      await sleep(POLL_MS)
    }
  }

  /** Waits for the activity item of an address with this transaction. */
  const activityOf = async (input: {
    readonly network: Network
    readonly address: string
    readonly transactionHash: string
  }): Promise<unknown> => {
    const deadline = Date.now() + WAIT_MS
    for (;;) {
      const items = await get('/activity', { network: input.network, wallet_address: input.address })
      const found = Array.isArray(items)
        ? items.find((item) => textAt(item, 'transaction_hash') === input.transactionHash)
        : undefined
      if (found !== undefined) return found
      hold(Date.now() < deadline, `The activity of ${input.address} does not show ${input.transactionHash}.`)
      await sleep(POLL_MS)
    }
  }

  /** On any network, as text. */
  const walletOfProject = async (network: Network): Promise<string> =>
    textAt(await get('/wallets/get-by-owner-id', { network, ownerID: dev.project_id }), 'address')

  const projectWallet = async (network: Network): Promise<Address> => (await walletOfProject(network)) as Address

  return { get, post, refused, succeeded, activityOf, walletOfProject, projectWallet }
}

/** The chains as their nodes report them, without the service. */
const nodesOf = (dev: DevJson) => {
  const rpcUrlOf = (network: Network): string => {
    const url = dev.networks[network]?.rpc_url
    hold(url !== undefined, `The dev stack has no ${network}.`)
    return url
  }
  const nodeOf = (network: Network) =>
    createPublicClient({ transport: http(rpcUrlOf(network)), pollingInterval: POLL_MS })
  const nodes = new Map(EVM_NAMES.map((network) => [network, nodeOf(network)]))
  const chainOf = (network: Network) => {
    const chain = nodes.get(network)
    hold(chain !== undefined, `The dev stack has no ${network}.`)
    return chain
  }

  /** Calls a node by plain JSON-RPC. @returns the receipt of the sent transaction. */
  const sendRaw = async (network: Network, raw: string) => {
    const hash = await callRpcForString(rpcUrlOf(network), { method: 'eth_sendRawTransaction', params: [raw] })
    hold(isHex(hash), 'The node answered with something else than a hash.')
    return chainOf(network).waitForTransactionReceipt({ hash, timeout: WAIT_MS })
  }

  /** Sends from the chain's own funded account, which stands for any other account. */
  const sendFromOutside = async (
    network: Network,
    transaction: { readonly to?: Address; readonly data?: Hex; readonly value?: Hex },
  ) => {
    const accounts = await chainOf(network).request({ method: 'eth_accounts' as never })
    const hash = await callRpcForString(rpcUrlOf(network), {
      method: 'eth_sendTransaction',
      params: [{ ...transaction, from: textAt(accounts, 1) }],
    })
    return chainOf(network).waitForTransactionReceipt({ hash: hash as Hex, timeout: WAIT_MS })
  }

  const isSame = (a: string, b: string): boolean => isAddressEqual(a as Hex, b as Hex)

  return { chainOf, sendRaw, sendFromOutside, isSame }
}

/** Starts the story against a running stack. */
export const storyOf = (dev: DevJson) => ({
  ...clientOf(dev),
  ...nodesOf(dev),
  secret: dev.developer_secret,
  /** Filled in by the steps. */
  made: new Map<string, Address>(),
  policies: new Map<string, string>(),
})

/** The result of an earlier step. @throws Error if there is none. */
export const madeIn = (story: Story, name: string): Address => {
  const address = story.made.get(name)
  hold(address !== undefined, `No earlier step made "${name}".`)
  return address
}
