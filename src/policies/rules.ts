import type { NodelessChain } from '../chains/chain.ts'
import { AppError } from '../errors.ts'
import { type ArgumentRule, DECODED, integerIn } from './evaluate.ts'

const refuse = (index: number, sentence: string): never => {
  throw new AppError('invalid_input', `Field "argument_rules.${index}.${sentence}`)
}

/** Refuses rules that can never match. Of an argument of call data, only ordering is checked. */
export const checkRules = (chain: NodelessChain, rules: readonly ArgumentRule[]): void => {
  for (const [index, { argument, operator, value }] of rules.entries()) {
    const isOrdered = operator !== 'eq' && operator !== 'ne'
    if (isOrdered && (argument === 'to' || argument === 'decodedInput.function')) {
      refuse(index, `operator" must be eq or ne for "${argument}", which is not a number.`)
    }
    // The same account has another text with each prefix. With the wrong prefix, `ne` would forbid nothing.
    const isAddress = argument === 'to' || (argument.startsWith(DECODED) && chain.isPrefixedAddress(value))
    const address = isAddress ? chain.parseAddress(value, `argument_rules.${index}.value`) : value
    // Transactions hold a program's address in its canonical text, so its id in hex would never match.
    if (address.toLowerCase() !== value.toLowerCase()) refuse(index, `value" must be written as ${address} here.`)
    // With another spelling, as `balances.transferKeepAlive`, `ne` would forbid nothing.
    if (argument.endsWith('.function') && !chain.isCallName(value)) {
      refuse(index, 'value" must be a call as previews name it, for instance balances.transfer_keep_alive.')
    }
    if ((isOrdered || argument === 'value') && integerIn(value) === null) {
      refuse(index, 'value" must be an integer here, in plain decimal digits or 0x hex.')
    }
  }
}
