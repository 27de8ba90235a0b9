// A request in words, for its approvers: what is asked for, each call with its amounts and arguments, what it would do
// now, and what is unclear about it; of typed data what the preview says, and every value that is signed. Pure. Texts
// of contracts, tokens and apps are separate parts.

import type { NodelessChain } from '../../chains/chain.ts'
import type { ApprovedAction, ReadRequest } from '../policies/request.ts'
import { coins, tokens } from '../policies/rule-words.ts'
import { code, name, place, type Sentence, say } from '../policies/sentence.ts'
import { isNamedLikeApproval } from '../policies/standard-calls.ts'
import type { AssetChange, PreviewResult } from '../transactions/preview-schema.ts'
import type { Change, TypedDataPreview } from '../typed-data/preview-schema.ts'
import { listValues } from '../typed-data/read.ts'
import type { TypedDataField } from '../typed-data/schema.ts'
import type { Approval } from './schema.ts'

export type ApprovalWords = Approval['words']

const ACTIONS: Readonly<Record<ApprovedAction, string>> = {
  sign: 'Sign a transaction, which the app can send when it likes,',
  'sign-typed-data': 'Sign typed data, which contracts take in place of a transaction,',
  send: 'Send a transaction',
  batch: 'Send several calls, all of them or none,',
  mint: 'Mint an NFT',
  transfer: 'Transfer an NFT',
  collection: 'Create a collection of NFTs',
  token: 'Create a token',
  token_mint: 'Mint tokens',
  token_transfer: 'Transfer tokens or coins',
  deployment: 'Put a contract wallet on the network',
  'speed-up': 'Send a waiting transaction again, at higher fees,',
}

const typeWords = ({ primaryType, domain }: NonNullable<ReadRequest['typed_data']>): Sentence => {
  const { verifyingContract: contract } = domain
  return say`${code(primaryType)}${contract === undefined ? say`` : say` for the contract ${code(contract)}`}`
}

const wantsWords = (request: ReadRequest): Sentence => {
  const { action, network, wallet_address: wallet, transaction_id: id, signer_nonce: nonce, typed_data: data } = request
  const again = id === undefined ? say`` : say`: the transaction ${code(id)}, with the nonce ${code(nonce ?? '')}`
  const which = data === undefined ? again : say`: ${typeWords(data)}`
  return say`${ACTIONS[action]} of the wallet ${code(wallet)} on ${network}${which}.`
}

type Unsigned = ReadRequest['intents'][number]
type Coin = Pick<NodelessChain, 'coin'>

const FIXED = ['gasLimit', 'maxFeePerGas', 'maxPriorityFeePerGas', 'gasPrice', 'nonce', 'era', 'asset_id'] as const

const fixedWords = (unsigned: Unsigned): readonly Sentence[] => {
  const { accessList } = unsigned
  const listed = accessList === undefined ? [] : [`an access list of ${accessList.length} contracts`]
  const fixed = FIXED.flatMap((field) => (unsigned[field] === undefined ? [] : [`${field} ${unsigned[field]}`])).concat(
    listed,
  )
  return fixed.length === 0 ? [] : [say`The app has fixed ${code(fixed.join(', '))}.`]
}

const contractWords = (to: string, preview: PreviewResult | undefined): Sentence => {
  const called = preview?.contract?.name ?? ''
  return called === '' ? say`${code(to)}` : say`${code(to)}, which calls itself ${name(called)}`
}

const argumentText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Functions of ERC-20 whose last argument is an amount. */
const WITH_AMOUNT = ['transfer', 'mint', 'transferFrom', 'approve', 'increaseAllowance', 'decreaseAllowance']

/** The amount of a token in its own units; empty if the value is not an amount. */
const amountWords = ({ contract, function_name: called }: PreviewResult, value: string): Sentence => {
  const token = contract?.token ?? null
  if (token === null || !WITH_AMOUNT.includes(called ?? '') || !/^[0-9]+$/.test(value)) return say``
  return say`, which is ${tokens({ ...token, decimals: token.decimals_unknown ? null : token.decimals }, BigInt(value))}`
}

const describeArguments = (preview: PreviewResult): readonly Sentence[] => {
  const given = Object.entries(preview.arguments ?? {})
  return given.map(([argument, value], index) => {
    const text = argumentText(value)
    const amount = index === given.length - 1 ? amountWords(preview, text) : say``
    return say`${code(argument)} is ${code(text)}${amount}.`
  })
}

const callWords = ({ to, input }: Unsigned, preview: PreviewResult | undefined): readonly Sentence[] => {
  if (input === '0x') return []
  const where = to === undefined ? say`` : say` of ${contractWords(to, preview)}`
  const called = preview?.function_name ?? null
  if (preview === undefined || called === null)
    return [say`It calls a function${where}, with data that cannot be read: ${code(input)}.`]
  return [say`It calls ${code(called)}${where}.`, ...describeArguments(preview)]
}

const payWords = (coin: Coin, { to, value, input }: Unsigned): readonly Sentence[] => {
  const whom = to === undefined ? say`` : say` to ${code(to)}`
  if (value === '0' && input !== '0x') return []
  return [say`It sends ${coins(coin, BigInt(value))}${whom}.`]
}

const changeWords = (change: AssetChange): Sentence =>
  say`Now it would move ${movedWords(change)} from ${code(change.from)} to ${code(change.to)}.`

const simulationWarnings = ({ simulation }: PreviewResult): readonly Sentence[] => {
  if (simulation === null) return [say`Nobody could try what this would do.`]
  return simulation.success ? [] : [say`It would fail now: ${name(simulation.error ?? '')}`]
}

const approvalWarnings = ({ function_name: called }: PreviewResult): readonly Sentence[] =>
  called !== null && isNamedLikeApproval(called)
    ? [
        say`The function ${code(called)} can let somebody take tokens or NFTs from this wallet later, without asking again.`,
      ]
    : []

const UNTRIED = say`The network does not answer, so nobody has tried what this would do.`

const describeWarnings = (previews: readonly PreviewResult[] | null): readonly Sentence[] => {
  if (previews === null) return [UNTRIED]
  return previews.flatMap((preview) => [...simulationWarnings(preview), ...approvalWarnings(preview)])
}

/** @param input.previews, input.signed null if none could be made */
export const approvalWords = (
  coin: Coin,
  input: {
    readonly request: ReadRequest
    readonly previews: readonly PreviewResult[] | null
    readonly signed: TypedDataPreview | null
  },
): ApprovalWords => {
  const { request, previews, signed } = input
  const { typed_data: typedData } = request
  if (typedData !== undefined) {
    const warnings = signed === null ? [UNTRIED] : typedDataWarnings(signed)
    return { wants: wantsWords(request), calls: [[...typedDataWords(typedData, signed)]], warnings: [...warnings] }
  }
  return {
    wants: wantsWords(request),
    calls: request.intents.map((unsigned, index) => {
      const preview = previews?.[index]
      return [
        ...payWords(coin, unsigned),
        ...callWords(unsigned, preview),
        ...(preview?.simulation?.asset_changes ?? []).map(changeWords),
        ...fixedWords(unsigned),
      ]
    }),
    warnings: [...describeWarnings(previews)],
  }
}

/** A sentence of the preview. Texts that strangers chose stand between “ and ”, and have no such marks within. */
const parseSentence = (text: string): Sentence =>
  text.split(/[“”]/).reduce<Sentence>((before, part, at) => say`${before}${at % 2 === 0 ? part : name(part)}`, [])

const movedWords = ({ amount = '', token, nft }: Pick<Change, 'amount' | 'token' | 'nft'>): Sentence => {
  if (nft) {
    const which = nft.token_id === '' ? say`any NFT` : say`the NFT ${code(nft.token_id)}`
    return say`${amount} of ${which} of ${code(nft.contract_address)}`
  }
  const symbol = token?.symbol ?? ''
  const isRaw = token?.decimals_unknown === true
  const count = isRaw ? `${amount} base units` : amount
  if (symbol === '') return say`${count} of the token ${code(token?.contract_address ?? '')}`
  return say`${count}${isRaw ? ' of' : ''} ${name(symbol)}`
}

const effectWords = (change: Change): readonly Sentence[] => {
  const { effect, from = '', to = '', call } = change
  switch (effect) {
    case 'may_take':
      return [say`It lets ${code(to)} take ${movedWords(change)}.`]
    case 'sends':
      return [say`It gives ${movedWords(change)}${to === '' ? say`` : say` to ${code(to)}`}.`]
    case 'receives':
      return [say`${code(to)} gets ${movedWords(change)}${from === '' ? say`` : say` from ${code(from)}`}.`]
    case 'calls':
      return [
        say`The Safe calls ${code(call?.function_name ?? 'a function that is not known')} of ${code(call?.to ?? '')}.`,
      ]
    case 'states':
      return []
    default:
      return effect satisfies never
  }
}

/** What is signed. @param preview null if none could be made */
const typedDataWords = (typedData: TypedDataField, preview: TypedDataPreview | null): readonly Sentence[] => {
  const { domain } = typedData
  const members = Object.entries(domain).map(
    ([member, value]) => say`In the domain, ${code(member)} is ${code(String(value))}.`,
  )
  const values = listValues(typedData).map(({ path, value }) => say`${place(path)} is ${code(value)}.`)
  if (preview === null) return [...members, ...values]
  // The summary of one change says all of it.
  const changes = preview.changes.length > 1 || preview.changes[0]?.effect === 'calls' ? preview.changes : []
  return [parseSentence(preview.summary), ...changes.flatMap(effectWords), ...members, ...values]
}

const typedDataWarnings = ({ warnings }: TypedDataPreview): readonly Sentence[] => warnings.map(parseSentence)
