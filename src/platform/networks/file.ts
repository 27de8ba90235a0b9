// NETWORKS_FILE: further EVM networks, described by the operator. An invalid file stops the process at its start, with
// an error that names the line and says what would be right.

import { createRequire } from 'node:module'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Value, ValueErrorType } from '@sinclair/typebox/value'
import type { Node, ParseError } from 'jsonc-parser'
import { higher } from '../amount.ts'
import { type EvmNetworkFile, GWEI, POOL_TRANSACTION_BYTES, parseGwei } from './network.ts'

/** Load the validator only if there is such a file, so that a vault without one does not need it. */
const parser = (): typeof import('jsonc-parser') => createRequire(import.meta.url)('jsonc-parser')

/** One word: it appears on the wire and, in capitals, at the start of environment variables. */
const NAME = '^[A-Z][A-Za-z0-9]{1,31}$'
const NAME_RULE = 'a word of 2 to 32 letters and digits that begins with a capital letter, such as Gnosis'
const COIN_WORD = '^[A-Z][A-Z0-9]{1,15}$'
const GWEI_AMOUNT = '^(?:0|[1-9][0-9]{0,8})(?:\\.[0-9]{1,9})?$'
const ADDRESS = '^0x[0-9a-fA-F]{40}$'

const whole = (least: number, most: number) =>
  Type.Integer({ minimum: least, maximum: most, rule: `a whole number from ${least} to ${most}` })
const text = (pattern: string, rule: string) => Type.String({ pattern, rule })
const line = (most: number) => text(`^[^\\u0000-\\u001f\\u007f]{1,${most}}$`, `a line of 1 to ${most} characters`)
const gwei = () => text(GWEI_AMOUNT, 'a decimal number of gwei in quotation marks, such as "1.5"')
const url = () => text('^https?://[^\\s/]+(?:/[^\\s]*)?$', 'a URL that begins with https:// or http://')
const address = () => text(ADDRESS, 'an address: 0x and 40 hex digits')

const CoinEntry = Type.Object(
  {
    word: text(COIN_WORD, 'a word of 2 to 16 capital letters and digits, such as XDAI'),
    name: line(64),
    symbol: line(16),
    decimals: whole(1, 36),
    display_decimals: Type.Optional(whole(0, 36)),
    logo_url: Type.Optional(url()),
  },
  { additionalProperties: false, rule: 'an object with word, name, symbol and decimals' },
)

const CoinContractEntry = Type.Object(
  {
    address: address(),
    moves_in: Type.Union([Type.Literal('calls'), Type.Literal('events')], { rule: '"calls" or "events"' }),
  },
  { additionalProperties: false, rule: 'an object with address and moves_in' },
)

const NetworkEntry = Type.Object(
  {
    name: text(NAME, NAME_RULE),
    chain_id: whole(1, Number.MAX_SAFE_INTEGER),
    coin: CoinEntry,
    confirmations: whole(1, 10_000),
    final_depth: whole(1, 100_000),
    min_priority_fee_gwei: gwei(),
    max_fee_gwei: gwei(),
    poll_interval_ms: whole(100, 60_000),
    explorer_url: url(),
    block_interval_ms: Type.Optional(whole(100, 3_600_000)),
    believed_tip_gwei: Type.Optional(gwei()),
    has_data_floor: Type.Optional(Type.Boolean({ rule: 'true or false' })),
    max_transaction_gas: Type.Optional(whole(100_000, Number.MAX_SAFE_INTEGER)),
    max_transaction_bytes: Type.Optional(whole(1_000, 100_000_000)),
    whole_backfill_blocks: Type.Optional(whole(1, 10_000_000)),
    climb_after_seconds: Type.Optional(whole(1, 86_400)),
    expire_after_seconds: Type.Optional(whole(1, 604_800)),
    gas_price_oracle: Type.Optional(address()),
    coin_contract: Type.Optional(CoinContractEntry),
    name_registry: Type.Optional(address()),
  },
  { additionalProperties: false, rule: 'an object, one network' },
)
type NetworkEntry = Static<typeof NetworkEntry>

const NetworksFile = Type.Array(NetworkEntry, { maxItems: 100, rule: 'a list of at most 100 networks' })

type Path = readonly (string | number)[]

/** The text of the file with its syntax tree, which gives the line for an error. */
type Source = { readonly name: string; readonly text: string; readonly root: Node | undefined }

const lineAt = (source: string, offset: number): number => source.slice(0, offset).split('\n').length

/** The line of the deepest node on the path that exists. */
const lineOf = ({ text: source, root }: Source, path: Path): number => {
  for (let length = path.length; length >= 0 && root !== undefined; length -= 1) {
    const node = parser().findNodeAtLocation(root, path.slice(0, length).map(String).map(asSegment))
    // For a property, the line of its name, not of its value.
    if (node !== undefined) return lineAt(source, (node.parent?.type === 'property' ? node.parent : node).offset)
  }
  return 1
}

const asSegment = (segment: string): string | number => (/^[0-9]+$/.test(segment) ? Number(segment) : segment)

const refusal = (source: Source, path: Path, sentence: string): Error =>
  new Error(`${source.name}, line ${lineOf(source, path)}: ${sentence}`)

const REASONS: Readonly<Record<string, string>> = {
  CommaExpected: 'a comma is missing',
  ValueExpected: 'a value is missing, or a comma is too many',
  ColonExpected: 'a colon is missing',
  PropertyNameExpected: 'the name of a field must stand here in quotation marks, or a comma is too many',
  CloseBraceExpected: 'a closing } is missing',
  CloseBracketExpected: 'a closing ] is missing',
  EndOfFileExpected: 'nothing more may stand here',
  InvalidCommentToken: 'JSON has no comments',
}

const parsed = (name: string, source: string): { readonly value: unknown; readonly source: Source } => {
  const errors: ParseError[] = []
  const { parseTree, printParseErrorCode } = parser()
  const root = parseTree(source, errors, { disallowComments: true })
  const [first] = errors
  if (first !== undefined || root === undefined) {
    const code = first === undefined ? 'ValueExpected' : printParseErrorCode(first.error)
    throw new Error(`${name}, line ${lineAt(source, first?.offset ?? 0)}: it is not JSON: ${REASONS[code] ?? code}.`)
  }
  return { value: JSON.parse(source), source: { name, text: source, root } }
}

const rule = (schema: TSchema): string => (typeof schema.rule === 'string' ? schema.rule : 'of another form')

/** Refuses an object with the same field twice; JSON.parse would silently take the last one. */
const refuseRepeated = (source: Source, node: Node | undefined): void => {
  const names = new Set<string>()
  for (const child of node?.children ?? []) {
    if (node?.type === 'object') {
      const name = String(child.children?.[0]?.value)
      if (names.has(name)) {
        throw new Error(`${source.name}, line ${lineAt(source.text, child.offset)}: "${name}" is there twice.`)
      }
      names.add(name)
    }
    refuseRepeated(source, child)
  }
}

const checked = (name: string, text: string) => {
  const { value, source } = parsed(name, text)
  refuseRepeated(source, source.root)
  const first = Value.Errors(NetworksFile, value).First()
  if (first === undefined) return { entries: Value.Decode(NetworksFile, value), source }
  const path = first.path.split('/').slice(1).map(asSegment)
  const field = path.filter((segment) => typeof segment === 'string').join('.')
  const isUnknown = first.type === ValueErrorType.ObjectAdditionalProperties
  const known = isUnknown && 'properties' in first.schema ? Object.keys(first.schema.properties) : []
  const last = path.at(-1)
  if (typeof last === 'string' && known.length > 0 && !known.includes(last)) {
    throw refusal(source, path, `"${field}" is unknown here; known are ${known.join(', ')}.`)
  }
  const isMissing = first.value === undefined
  const what = field === '' ? (path.length === 0 ? 'the file' : 'each network') : `"${field}"`
  throw refusal(source, path, `${what} ${isMissing ? 'is missing: it must be' : 'must be'} ${rule(first.schema)}.`)
}

/** Defaults that fit many chains. */
const DISPLAY_DECIMALS = 4
const BACKFILL_BLOCKS = 3_600
const BLOCK_INTERVAL_MS = 12_000
const CLIMB_AFTER_SECONDS = 20
const EXPIRE_AFTER_SECONDS = 1_800

const fileOf = (entry: NetworkEntry): EvmNetworkFile => {
  const { name, chain_id: chainId, explorer_url: explorerUrl, confirmations } = entry
  const { display_decimals: displayDecimals, logo_url: logoUrl = '', ...coin } = entry.coin
  const { coin_contract: coinContract } = entry
  const minPriorityFeeWei = parseGwei(entry.min_priority_fee_gwei)
  return {
    network: name,
    family: 'evm',
    chainIds: { testnet: chainId, mainnet: chainId },
    explorerUrls: { testnet: explorerUrl, mainnet: explorerUrl },
    coin: { ...coin, logoUrl, displayDecimals: displayDecimals ?? Math.min(coin.decimals, DISPLAY_DECIMALS) },
    minPriorityFeeWei,
    believedTipWei:
      entry.believed_tip_gwei === undefined ? higher(minPriorityFeeWei, 2n * GWEI) : parseGwei(entry.believed_tip_gwei),
    maxFeePerGasCapWei: parseGwei(entry.max_fee_gwei),
    hasDataFloor: entry.has_data_floor ?? false,
    maxTransactionGas: entry.max_transaction_gas === undefined ? null : BigInt(entry.max_transaction_gas),
    maxTransactionBytes: entry.max_transaction_bytes ?? POOL_TRANSACTION_BYTES,
    confirmations,
    finalDepth: entry.final_depth,
    wholeBackfillBlocks: entry.whole_backfill_blocks ?? higher(BACKFILL_BLOCKS, entry.final_depth),
    blockIntervalMs: entry.block_interval_ms ?? BLOCK_INTERVAL_MS,
    pollIntervalMs: entry.poll_interval_ms,
    climbAfterSeconds: entry.climb_after_seconds ?? CLIMB_AFTER_SECONDS,
    expireAfterSeconds: entry.expire_after_seconds ?? EXPIRE_AFTER_SECONDS,
    gasPriceOracle: entry.gas_price_oracle ?? null,
    coinContract: coinContract === undefined ? null : { address: coinContract.address, movesIn: coinContract.moves_in },
    nameRegistry: entry.name_registry ?? null,
  }
}

type Taken = { readonly network: string; readonly chainIds: readonly number[] }

const refuseMisfits = (source: Source, index: number, file: EvmNetworkFile, taken: readonly Taken[]): void => {
  const refuse = (field: string, sentence: string): never => {
    throw refusal(source, [index, field], sentence)
  }
  const { network, chainIds, coin } = file
  const name = taken.find((each) => each.network.toUpperCase() === network.toUpperCase())
  if (name !== undefined) refuse('name', `"name" must be one that no other network has; there is ${name.network}.`)
  const chain = taken.find((each) => each.chainIds.includes(chainIds.mainnet))
  if (chain !== undefined)
    refuse('chain_id', `"chain_id" must be one that no other network has; it is that of ${chain.network}.`)
  if (coin.displayDecimals > coin.decimals) refuse('coin', '"coin.display_decimals" must not be above "coin.decimals".')
  if (file.maxFeePerGasCapWei <= file.minPriorityFeeWei) {
    refuse('max_fee_gwei', '"max_fee_gwei" must be above "min_priority_fee_gwei".')
  }
  if (file.confirmations > file.finalDepth) refuse('final_depth', '"final_depth" must not be below "confirmations".')
  if (file.wholeBackfillBlocks < file.finalDepth) {
    refuse('whole_backfill_blocks', '"whole_backfill_blocks" must not be below "final_depth".')
  }
  if (file.expireAfterSeconds <= file.climbAfterSeconds) {
    refuse('expire_after_seconds', '"expire_after_seconds" must be above "climb_after_seconds".')
  }
}

/** @param input.taken networks that exist. @throws Error with the line, what is wrong there and what is right. */
export const parseNetworksFile = (input: {
  readonly name: string
  readonly text: string
  readonly taken: readonly Taken[]
}): readonly EvmNetworkFile[] => {
  const { entries, source } = checked(input.name, input.text)
  const taken = [...input.taken]
  return entries.map((entry, index) => {
    const file = fileOf(entry)
    refuseMisfits(source, index, file, taken)
    taken.push({ network: file.network, chainIds: [file.chainIds.mainnet] })
    return file
  })
}
