import { StrongroomError } from './errors.ts'
import { type EvmTransaction, type Hex, readQuantity } from './evm-wallet.ts'
import { ProviderError } from './provider-error.ts'

type Parts = {
  readonly from: string
  readonly ask: (request: { readonly method: string; readonly params: readonly unknown[] }) => Promise<unknown>
}

const isRevert = (error: unknown): error is StrongroomError =>
  error instanceof StrongroomError && error.code === 'execution_reverted'

/**
 * Adds to a refusal the bytes with which the contract reverted, so that an app can decode its own custom errors: the
 * service has put them into words. They are asked of the app's node; without an answer the refusal stays as it was.
 */
export const explainReverts = ({ from, ask }: Parts) => {
  const revertData = async ({ to, data, value }: EvmTransaction): Promise<Hex | null> => {
    const wei = `0x${BigInt(readQuantity({ name: 'value', value }) ?? 0).toString(16)}`
    try {
      await ask({ method: 'eth_call', params: [{ from, to, data, value: wei }, 'pending'] })
      return null
    } catch (error) {
      const bytes = error instanceof ProviderError ? error.data : null
      return typeof bytes === 'string' && /^0x(?:[0-9a-f]{2})+$/i.test(bytes) ? `0x${bytes.slice(2)}` : null
    }
  }
  return async <Result>(transaction: EvmTransaction, act: () => Promise<Result>): Promise<Result> => {
    try {
      return await act()
    } catch (error) {
      const data = isRevert(error) ? await revertData(transaction) : null
      if (!isRevert(error) || data === null) throw error
      // viem reads the bytes there, and `data.code` stays the service's word.
      throw Object.assign(new ProviderError(3, error.message, { code: error.code, data }), { cause: error })
    }
  }
}
