import type { NodelessChain } from '../chains/chain.ts'
import { AppError } from '../errors.ts'
import { type ArgumentRule, DECODED, integerIn } from './evaluate.ts'

const refuse = (index: number, sentence: string): never => {
  throw new AppError('invalid_input', `Field "argument_rules.${index}.${sentence}`)
}

/**
 * Refuses rules that could never match for what is known of them now; of an argument of call data that is its order alone.
 * @throws invalid_input, address_invalid, network_mismatch.
 */
export const checkRules = (chain: NodelessChain, rules: readonly ArgumentRule[]): void => {
  for (const [index, { argument, operator, value }] of rules.entries()) {
    const isOrdered = operator !== 'eq' && operator !== 'ne'
    if (isOrdered && (argument === 'to' || argument === 'decodedInput.function')) {
      refuse(index, `operator" must be eq or ne for "${argument}", which is no number.`)
    }
    // An account has a text for each prefix: by the wrong one `ne` would forbid nobody.
    const isAddress = argument === 'to' || (argument.startsWith(DECODED) && chain.isPrefixedAddress(value))
    const address = isAddress ? chain.parseAddress(value, `argument_rules.${index}.value`) : value
    // A program's id in hex: transactions have the text of its address.
    if (address.toLowerCase() !== value.toLowerCase()) refuse(index, `value" must be written as ${address} here.`)
    // `ne` would forbid nothing by `balances.transferKeepAlive`.
    if (argument.endsWith('.function') && !chain.isCallName(value)) {
      refuse(index, 'value" must be a call as previews name it, such as balances.transfer_keep_alive.')
    }
    if ((isOrdered || argument === 'value') && integerIn(value) === null) {
      refuse(index, 'value" must be an integer here, in plain decimal digits or 0x hex.')
    }
  }
}
