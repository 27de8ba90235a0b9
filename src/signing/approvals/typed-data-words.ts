// Typed data in words, for its approvers: what the preview says of it, and every value that is signed. Pure.

import { code, name, place, type Sentence, say } from '../policies/sentence.ts'
import type { Change, TypedDataPreview } from '../typed-data/preview-schema.ts'
import type { TypedDataField } from '../typed-data/schema.ts'
import { valuesOf } from '../typed-data/values.ts'

/** A sentence of the preview. It has texts of others between “ and ”, and has no such marks within them. */
const sentenceOf = (text: string): Sentence =>
  text.split(/[“”]/).reduce<Sentence>((before, part, at) => say`${before}${at % 2 === 0 ? part : name(part)}`, [])

/** What moves: an amount of a token, or NFTs. */
export const movedWords = ({ amount = '', token, nft }: Pick<Change, 'amount' | 'token' | 'nft'>): Sentence => {
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

const changeWords = (change: Change): readonly Sentence[] => {
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
export const typedDataWords = (typedData: TypedDataField, preview: TypedDataPreview | null): readonly Sentence[] => {
  const { domain } = typedData
  const members = Object.entries(domain).map(
    ([member, value]) => say`In the domain, ${code(member)} is ${code(String(value))}.`,
  )
  const values = valuesOf(typedData).map(({ path, value }) => say`${place(path)} is ${code(value)}.`)
  if (preview === null) return [...members, ...values]
  // The summary of one change says all of it.
  const changes = preview.changes.length > 1 || preview.changes[0]?.effect === 'calls' ? preview.changes : []
  return [sentenceOf(preview.summary), ...changes.flatMap(changeWords), ...members, ...values]
}

export const typedDataWarnings = ({ warnings }: TypedDataPreview): readonly Sentence[] => warnings.map(sentenceOf)
