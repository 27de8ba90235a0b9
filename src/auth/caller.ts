// Who is calling. An API key speaks for a whole project.

import type { ApiKeyScope } from '../../db/words.ts'

export type Caller = {
  readonly kind: 'api_key'
  readonly projectId: string
  readonly apiKeyId: string
  readonly scopes: readonly ApiKeyScope[]
}

/** How the audit names a caller. */
export const actorOf = (caller: Caller): string => `api_key:${caller.apiKeyId}`
