import { useEffect, useState } from 'react'
import type { Client } from '../client.ts'
import { StrongroomError } from '../errors.ts'
import type { Submitted, TransactionStatus } from '../wait-for.ts'
import { useClient, useUserId } from './provider.tsx'

export type FollowedTransaction = {
  /** As it was read last; null before. */
  readonly transaction: TransactionStatus | null
  /** Why it failed, or why its status cannot be read at the moment. */
  readonly error: StrongroomError | null
  /** It is in a block, or has failed. */
  readonly isSettled: boolean
}

const NOTHING: FollowedTransaction = { transaction: null, error: null, isSettled: false }

const FOLLOW_MS = 24 * 3_600_000

const follow = async (input: {
  readonly client: Client
  readonly id: string
  readonly signal: AbortSignal
  readonly onChange: (change: Partial<FollowedTransaction>) => void
}): Promise<void> => {
  const { client, id, signal, onChange } = input
  const onStatus = (transaction: TransactionStatus) => onChange({ transaction, error: null })
  const onInterruption = (error: StrongroomError) => onChange({ error })
  try {
    await client.waitFor(id, { timeoutMs: FOLLOW_MS, signal, onStatus, onInterruption })
    onChange({ isSettled: true })
  } catch (error) {
    if (!(error instanceof StrongroomError)) throw error
    onChange({ error, isSettled: error.code === 'transaction_failed' })
  }
}

/**
 * Follows a transaction until it is in a block or has failed, for at most a day. While the service is away it says so
 * and asks on.
 * @param submitted the answer of a call that sent something, or its `transaction_id`; null for none yet
 */
export const useTransaction = (submitted: Submitted | null): FollowedTransaction => {
  const client = useClient()
  const userId = useUserId()
  const id = typeof submitted === 'string' ? submitted : (submitted?.transaction_id ?? null)
  const [followed, setFollowed] = useState({ id, state: NOTHING })

  useEffect(() => {
    if (id === null || userId === null) return
    const controller = new AbortController()
    const { signal } = controller
    const onChange = (change: Partial<FollowedTransaction>) => {
      if (signal.aborted) return
      setFollowed((before) => ({ id, state: { ...(before.id === id ? before.state : NOTHING), ...change } }))
    }
    follow({ client, id, signal, onChange }).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    return () => controller.abort()
  }, [client, userId, id])

  return followed.id === id ? followed.state : NOTHING
}
