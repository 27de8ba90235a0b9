// Made of the OpenAPI document by client/generate.ts. Do not edit it.

import type { Method, Operation } from './operation.ts'

export const OPERATIONS: Readonly<Record<string, Operation | Readonly<Record<string, Operation>>>> = {
  healthz: { method: 'GET', path: '/healthz', gives: { field: 'status' } },
  readyz: { method: 'GET', path: '/readyz', gives: { field: 'status' } },
  wallets: {
    create: { method: 'POST', path: '/wallets', takesKey: true, gives: { field: 'id' } },
    list: { method: 'GET', path: '/wallets', gives: 'list' },
    import: { method: 'POST', path: '/wallets/import', takesKey: true, gives: { field: 'id' } },
    changeUserPin: { method: 'POST', path: '/wallets/change-user-pin', gives: { field: 'success' } },
    export: { method: 'POST', path: '/wallets/export', gives: { field: 'mnemonic_phrase' } },
    putUnderPolicies: { method: 'POST', path: '/wallets/put-under-policies', gives: { field: 'success' } },
    getByNetwork: { method: 'GET', path: '/wallets/get-by-network', gives: { field: 'id' } },
    getById: { method: 'GET', path: '/wallets/get-by-id', gives: { field: 'id' } },
    getByAddress: { method: 'GET', path: '/wallets/get-by-address', gives: { field: 'id' } },
    getByOwnerId: { method: 'GET', path: '/wallets/get-by-owner-id', gives: { field: 'id' } },
    recoveryCode: { method: 'POST', path: '/wallets/recovery-code', gives: { field: 'recovery_code' } },
    recoveryCodeRemove: { method: 'POST', path: '/wallets/recovery-code/remove', gives: { field: 'success' } },
    passkeySecret: { method: 'POST', path: '/wallets/passkey-secret', gives: { field: 'success' } },
    passkeySecretRemove: { method: 'POST', path: '/wallets/passkey-secret/remove', gives: { field: 'success' } },
    userSecrets: { method: 'GET', path: '/wallets/user-secrets', gives: 'list' },
  },
  transactions: {
    list: { method: 'GET', path: '/transactions', gives: 'list' },
    preview: { method: 'POST', path: '/transactions/preview', reads: true, gives: { field: 'network' } },
    previewBundle: { method: 'POST', path: '/transactions/preview-bundle', reads: true, gives: 'list' },
    sign: { method: 'POST', path: '/transactions/sign', gives: 'text' },
    signAndSend: { method: 'POST', path: '/transactions/sign-and-send', takesKey: true, gives: { field: 'transaction_id' } },
    batchSignAndSend: { method: 'POST', path: '/transactions/batch-sign-and-send', takesKey: true, gives: { field: 'transaction_id' } },
    speedUp: { method: 'POST', path: '/transactions/speed-up', takesKey: true, gives: { field: 'transaction_id' } },
    cancel: { method: 'POST', path: '/transactions/cancel', takesKey: true, gives: { field: 'transaction_id' } },
    retry: { method: 'POST', path: '/transactions/retry', takesKey: true, gives: { field: 'transaction_id' } },
    statusByHash: { method: 'GET', path: '/transactions/status-by-hash', gives: { field: 'transaction_hash' } },
    statusById: { method: 'GET', path: '/transactions/status-by-id', gives: { field: 'transaction_id' } },
    signPayload: { method: 'POST', path: '/transactions/sign-payload', gives: { field: 'signature' } },
    signMessage: { method: 'POST', path: '/transactions/sign-message', gives: { field: 'signature' } },
    signAuthorization: { method: 'POST', path: '/transactions/sign-authorization', gives: { field: 'chain_id' } },
    previewTypedData: { method: 'POST', path: '/transactions/preview-typed-data', reads: true, gives: { field: 'kind' } },
    signTypedData: { method: 'POST', path: '/transactions/sign-typed-data', gives: { field: 'signature' } },
  },
  nfts: {
    list: { method: 'GET', path: '/nfts', gives: 'list' },
    listCollections: { method: 'GET', path: '/nfts/collections', gives: 'list' },
    createCollection: { method: 'POST', path: '/nfts/collections', takesKey: true, gives: { field: 'transaction_id' } },
    collectionByAddress: { method: 'GET', path: '/nfts/collection-by-address', gives: { field: 'network' } },
    upload: { method: 'POST', path: '/nfts/upload', takesForm: true, gives: { field: 'url' } },
    mint: { method: 'POST', path: '/nfts/mint', takesKey: true, gives: { field: 'transaction_id' } },
    batchMint: { method: 'POST', path: '/nfts/batch-mint', takesKey: true, gives: { field: 'transaction_id' } },
    transfer: { method: 'POST', path: '/nfts/transfer', takesKey: true, gives: { field: 'transaction_id' } },
  },
  policies: {
    create: { method: 'POST', path: '/policies', takesKey: true, gives: { field: 'uuid' } },
    list: { method: 'GET', path: '/policies', gives: 'list' },
    describe: { method: 'POST', path: '/policies/describe', reads: true, gives: { field: 'policy' } },
    described: { method: 'GET', path: '/policies/described', gives: 'list' },
    revoke: { method: 'POST', path: '/policies/revoke', gives: { field: 'success' } },
  },
  approvals: {
    list: { method: 'GET', path: '/approvals', gives: 'list' },
    begin: { method: 'POST', path: '/approvals/begin', gives: { field: 'publicKey' } },
    decide: { method: 'POST', path: '/approvals/decide', gives: { field: 'approval_id' } },
  },
  webhooks: {
    list: { method: 'GET', path: '/webhooks', gives: 'list' },
    create: { method: 'POST', path: '/webhooks', gives: { field: 'id' } },
    update: { method: 'POST', path: '/webhooks/update', gives: { field: 'success' } },
    remove: { method: 'POST', path: '/webhooks/remove', gives: { field: 'success' } },
    rotate: { method: 'POST', path: '/webhooks/rotate', gives: { field: 'secret' } },
    test: { method: 'POST', path: '/webhooks/test', gives: { field: 'delivery_id' } },
    replay: { method: 'POST', path: '/webhooks/replay', gives: { field: 'deliveries' } },
    deliveries: { method: 'GET', path: '/webhooks/deliveries', gives: 'list' },
  },
  metadata: {
    get: { method: 'GET', path: '/metadata/{file}', gives: { field: 'name' } },
  },
  activity: {
    list: { method: 'GET', path: '/activity', gives: 'list' },
  },
  events: {
    list: { method: 'GET', path: '/events', gives: { field: 'events' } },
  },
  tokens: {
    balances: { method: 'GET', path: '/tokens/balances', gives: 'list' },
    get: { method: 'GET', path: '/tokens/tokens', gives: { field: 'uuid' } },
    create: { method: 'POST', path: '/tokens', takesKey: true, gives: { field: 'transaction_id' } },
    mint: { method: 'POST', path: '/tokens/mint', takesKey: true, gives: { field: 'transaction_id' } },
    transfer: { method: 'POST', path: '/tokens/transfer', takesKey: true, gives: { field: 'transaction_id' } },
    batchTransfer: { method: 'POST', path: '/tokens/batch-transfer', takesKey: true, gives: { field: 'transaction_id' } },
  },
  addresses: {
    metadata: { method: 'GET', path: '/addresses/metadata' },
    lookupByName: { method: 'GET', path: '/addresses/lookup-by-name', gives: { field: 'address' } },
  },
  jwks: {
    get: { method: 'GET', path: '/.well-known/jwks.json', gives: { field: 'keys' } },
  },
  users: {
    verifyLogin: { method: 'POST', path: '/users/verify-login', gives: { field: 'id' } },
    loginAnonymously: { method: 'POST', path: '/users/login-anonymously', gives: { field: 'id' } },
    refreshToken: { method: 'POST', path: '/users/refresh-token', gives: { field: 'id' } },
    logout: { method: 'POST', path: '/users/logout', gives: { field: 'success' } },
    loginWithWallet: { method: 'POST', path: '/users/login-with-wallet', gives: { field: 'user_id' } },
    loginWithDiscoverablePasskey: { method: 'POST', path: '/users/login-with-discoverable-passkey', gives: { field: 'publicKey' } },
    loginWithPasskey: { method: 'POST', path: '/users/login-with-passkey', gives: { field: 'publicKey' } },
    passkeys: { method: 'GET', path: '/users/passkeys', gives: 'list' },
    passkeyBeginRegistration: { method: 'POST', path: '/users/passkey/begin-registration', gives: { field: 'publicKey' } },
    passkeyFinishRegistration: { method: 'POST', path: '/users/passkey/finish-registration', gives: { field: 'success' } },
    passkeyRemove: { method: 'POST', path: '/users/passkey/remove', gives: { field: 'success' } },
    addEmail: { method: 'POST', path: '/users/add-email', gives: { field: 'success' } },
    verifyEmail: { method: 'POST', path: '/users/verify-email', gives: { field: 'success' } },
    loginWithEmail: { method: 'POST', path: '/users/login-with-email', gives: { field: 'user_id' } },
    createSessionChallenge: { method: 'POST', path: '/users/create-session-challenge', gives: { field: 'id' } },
    loginWithMagicLink: { method: 'POST', path: '/users/login-with-magic-link', gives: { field: 'id' } },
    sessionChallenge: { method: 'GET', path: '/users/session-challenge', gives: { field: 'id' } },
    sessionChallengeAsker: { method: 'GET', path: '/users/session-challenge/asker', gives: { field: 'address' } },
    completeSessionChallenge: { method: 'POST', path: '/users/complete-session-challenge', gives: { field: 'success' } },
    sessions: { method: 'GET', path: '/users/sessions', gives: 'list' },
    sessionsEnd: { method: 'POST', path: '/users/sessions/end', gives: { field: 'ended' } },
  },
}

/** The operations of the service, by resource. */
export type Operations = {
  /** The process is alive. Checks nothing else. */
  healthz: Method<'healthz'>
  /** The process is ready. Checks the database, and each node's chain. A node that does not answer within 1.5 s is `unreachable`. 503 if the database does not answer, can only be read, has no space left, lacks the schema of this version or belongs to another root key, or the process is about to end. */
  readyz: Method<'readyz'>
  wallets: {
    /** Create a wallet. Wallets of one `owner_id` on different networks have the same seed phrase. The first user-controlled wallet sets the PIN of its owner. A PIN that is easy to guess is refused: `pin_obvious`. */
    create: Method<'wallets_create'>
    /** List wallets. The wallets of the project, or of the user, on a network, oldest first. */
    list: Method<'wallets_list'>
    /** Import a wallet. From a private key or a phrase. A project can import an address once. */
    import: Method<'wallets_import'>
    /** Change a user PIN. Changes it for all of the owner's user-controlled wallets, on every network. With `user_secret` in place of the old PIN it also ends a lockout after wrong PINs. If the owner is a user, their other sessions end. A new PIN that is easy to guess is refused: `pin_obvious`. */
    changeUserPin: Method<'wallets_change_user_pin'>
    /** Export a wallet. The phrase or the imported key. If developer and user share control, both credentials are needed. */
    export: Method<'wallets_export'>
    /** Put a wallet under policies. From then on the developer secret opens the owner's developer-controlled wallets only by a policy, on every network, because they have the same keys: it signs no message, exports nothing, and makes no further wallet or policy for them. So make the policies first. Only an operator can take it back. */
    putUnderPolicies: Method<'wallets_put_under_policies'>
    /** Get the user's wallet. The wallet, on a network, of the user whose access token is sent. */
    getByNetwork: Method<'wallets_get_by_network'>
    /** Get a wallet by id. A wallet by network and id. */
    getById: Method<'wallets_get_by_id'>
    /** Get a wallet by address. A wallet by network and address. */
    getByAddress: Method<'wallets_get_by_address'>
    /** Get a wallet by owner. A wallet by network and owner id. */
    getByOwnerId: Method<'wallets_get_by_owner_id'>
    /** Make a recovery code. It opens all of the owner's user-controlled wallets, as the PIN does, in the field `user_secret`, and sets a new PIN after a lost one. It replaces an earlier code. It is shown only in this answer. */
    recoveryCode: Method<'wallets_recovery_code'>
    /** Remove the recovery code. It takes the PIN or the secret of a passkey, not the code itself. */
    recoveryCodeRemove: Method<'wallets_recovery_code_remove'>
    /** Let a passkey open the wallets. What the passkey computes then opens all of the owner's user-controlled wallets, as the PIN does, in the field `user_secret`. It replaces an earlier secret of the same passkey. An owner can have ten. */
    passkeySecret: Method<'wallets_passkey_secret'>
    /** Remove the secret of a passkey. It takes the PIN or another secret of the owner, not that of the same passkey. */
    passkeySecretRemove: Method<'wallets_passkey_secret_remove'>
    /** List what opens the wallets. The recovery code and the passkeys that open the owner's user-controlled wallets beside the PIN. */
    userSecrets: Method<'wallets_user_secrets'>
  }
  transactions: {
    /** List transactions. Those of all wallets that the caller can see, or of one, newest first. For the next page ask with `before`, the `transaction_id` of the last item seen: each page is equally fast. */
    list: Method<'transactions_list'>
    /** Preview a transaction. Simulates it and sends nothing: the decoded call and the asset changes. */
    preview: Method<'transactions_preview'>
    /** Preview a bundle. In sequence: later transactions see the effects of earlier ones. */
    previewBundle: Method<'transactions_preview_bundle'>
    /** Sign a transaction. Sends nothing. On the EVM networks the fields decide the type of the transaction: 0, 1 or 2. For an `eoa` wallet with every field given it asks no node. For a wallet of type `contract` it signs a transaction of the key, which also deploys the wallet if that has no code. The answer is a JSON string. */
    sign: Method<'transactions_sign'>
    /** Sign and send a transaction. Answers once it is recorded; a job sends it. See status-by-id. */
    signAndSend: Method<'transactions_sign_and_send'>
    /** Sign and send a batch. In order, all of them or none, by a wallet of type `contract`; any other wallet: `batch_unsupported`. */
    batchSignAndSend: Method<'transactions_batch_sign_and_send'>
    /** Sign again at higher fees. Signs a transaction that is in no block again, for the same nonce, at fees above what was sent of it, and sends it, even if it was given up. Whichever is mined counts. Not on Substrate networks: an extrinsic there ends by itself. */
    speedUp: Method<'transactions_speed_up'>
    /** Give a transaction up. For a transaction that is in no block: from now on only its cancelling transaction is sent, which uses the nonce and costs a fee. What a node already has may still be mined, and then counts. Otherwise it ends as failed (`expired`). It needs no credential: the cancelling transaction was signed with it. Once given up, it answers the same again. Not on Substrate networks: an extrinsic there ends by itself. */
    cancel: Method<'transactions_cancel'>
    /** Send a transaction again. For a transaction that is in no block: a job sends what is signed of it once more, now. This happens by itself, too; sending twice does no harm, and no new fee is offered (see speed-up). */
    retry: Method<'transactions_retry'>
    /** Status by hash. For any transaction that the chain knows; for a replaced hash the answer has the mined one. On Substrate networks a mortal extrinsic that was only signed is `pending` as long as a block may take it. */
    statusByHash: Method<'transactions_status_by_hash'>
    /** Status by id. For an id that sign-and-send, mint, transfer or collections returned. */
    statusById: Method<'transactions_status_by_id'>
    /** Sign a payload of @polkadot/api. Signs what a dapp shows its signer (`signPayload`), byte for byte, if the present runtime takes it. Sends nothing. Only on Substrate networks. */
    signPayload: Method<'transactions_sign_payload'>
    /** Sign a message. Never with a policy. If developer and user share control, it needs both credentials, as an export does. */
    signMessage: Method<'transactions_sign_message'>
    /** Sign an authorisation (EIP-7702). Lets the account run the code of a contract, once somebody sends it in a transaction of type 4. Sends nothing. Only for contracts that the operator allowed for the project, and never with a policy. If developer and user share control, it needs both credentials. */
    signAuthorization: Method<'transactions_sign_authorization'>
    /** Preview typed data. Says what a signature of it would do, and signs nothing. It is checked as for a signature. */
    previewTypedData: Method<'transactions_preview_typed_data'>
    /** Sign typed data. EIP-712, as `eth_signTypedData_v4`; only on EVM networks. If developer and user share control, it needs both credentials, as a message does. With `developer_secret` alone, if a policy names the primary type and the verifying contract. */
    signTypedData: Method<'transactions_sign_typed_data'>
  }
  nfts: {
    /** List NFTs. The NFTs of a wallet of the project, or those of one collection in all its wallets. Of a long list, ask with `after`, the last NFT seen, instead of the next page: each page is then equally fast. */
    list: Method<'nfts_list'>
    /** List collections. Those that a wallet of the project created through this service, oldest first. */
    listCollections: Method<'nfts_list_collections'>
    /** Create a collection. On EVM networks an ERC-721 or ERC-1155 contract with ERC-2981; on Substrate networks a collection of the NFT pallet, owned by the sender. Its address or id is in the status of the transaction. Where collections are programs they cannot be created here (501). */
    createCollection: Method<'nfts_create_collection'>
    /** Get a collection. A collection that the project created through this service; with `network` also any other of that network. */
    collectionByAddress: Method<'nfts_collection_by_address'>
    /** Upload an image. It is hosted here under the SHA-256 of its bytes, so the same image has the same URL. It is public, and its bytes are not changed: remove places and names that a camera wrote into it. With an API key only. */
    upload: Method<'nfts_upload'>
    /** Mint an NFT. The service finds by simulation how the collection mints. `metadata` is hosted here; or give a `uri`. Refused with `mint_unauthorized`, `mint_requires_value` or `mint_unsupported`. */
    mint: Method<'nfts_mint'>
    /** Mint several NFTs. In one transaction: all of them, or none. On EVM networks only in a collection that was created here; others are refused with `batch_unsupported`. An NFT without `metadata` follows the `base_uri` of its collection. */
    batchMint: Method<'nfts_batch_mint'>
    /** Transfer an NFT. From a wallet of the project to any address; for an ERC-1155 token also several pieces. */
    transfer: Method<'nfts_transfer'>
  }
  policies: {
    /** Create a policy. Lets the developer use a wallet if all rules match: a user-controlled one without its PIN, a developer-controlled one once it is put under policies. It allows sign, sign-and-send, batch-sign-and-send, mint, transfer. Call data needs a rule `decodedInput.function eq …`; without one only payments are allowed. Fees are charged to a budget. A policy never allows signing a message, an export, a PIN change, creating a contract or changing a contract wallet. */
    create: Method<'policies_create'>
    /** List policies. All that are not revoked, including expired ones, oldest first. */
    list: Method<'policies_list'>
    /** Describe a policy before it is created. What the policy would allow, in words for the owner of the wallet. `policy` is the same policy with its fee budget fixed: create it with exactly this, so that what was read is what is granted. Nothing is created. */
    describe: Method<'policies_describe'>
    /** List policies in words. Those of user-controlled wallets on all networks that are not revoked, oldest first, each with its words for the owner. */
    described: Method<'policies_described'>
    /** Revoke a policy. From the next request on, the policy allows nothing. Transactions that were accepted before are still sent. */
    revoke: Method<'policies_revoke'>
  }
  approvals: {
    /** List approvals. An API key sees all of the project; a user the open ones that they may decide, also those that they have approved and can still reject. Newest first. */
    list: Method<'approvals_list'>
    /** Begin to decide. Pass the answer to navigator.credentials.get, and its result to decide. Only for approvers of the policy, on a page where their passkey works. */
    begin: Method<'approvals_begin'>
    /** Decide. The passkey must be one that the approver had when the policy was made. The same decision again changes nothing. */
    decide: Method<'approvals_decide'>
  }
  webhooks: {
    /** List webhooks. The project's webhooks, oldest first. Secrets are not shown. For API keys only. */
    list: Method<'webhooks_list'>
    /** Create a webhook. A URL that gets the events of the project from now on, signed by Standard Webhooks: those of one wallet in their order, unless `order` is `none`, each at least once. At most 20. */
    create: Method<'webhooks_create'>
    /** Change a webhook. Absent fields stay as they are. */
    update: Method<'webhooks_update'>
    /** Delete a webhook. What waits for it is not sent any more. */
    remove: Method<'webhooks_remove'>
    /** Rotate the secret of a webhook. For a while each request has two signatures, by the new secret and by the one before. */
    rotate: Method<'webhooks_rotate'>
    /** Test a webhook. Sends a message of the type `webhook.test`, past what waits. What became of it is in the deliveries. */
    test: Method<'webhooks_test'>
    /** Send events again. With the same `webhook-id` as before. */
    replay: Method<'webhooks_replay'>
    /** List deliveries. Newest first. Those that have ended are kept for a week. */
    deliveries: Method<'webhooks_deliveries'>
  }
  metadata: {
    /** Get hosted metadata. The EIP-721 metadata of an NFT that was minted here, under its token URI; or an uploaded image, with its own media type. Public. */
    get: Method<'metadata_get'>
  }
  activity: {
    /** List activity. Coins, tokens and NFTs that came into a wallet of the project or went out, newest first. New items move older ones to later pages, so a caller who pages by number sees some twice (by uuid) and misses none. To see each once, ask with `before`, the uuid of the last item seen, instead of the next page. */
    list: Method<'activity_list'>
  }
  events: {
    /** List events. What happened in the project, in an order that never changes: ask with `after`, the `next` of the last answer, and miss nothing. For API keys only. With `wait` the answer comes with the next event. With the header `Accept: text/event-stream` the same events come as Server-Sent Events, and `Last-Event-ID` stands for `after`. Events are kept for 30 days, unless the operator says otherwise; `events_gone` if `after` is older. */
    list: Method<'events_list'>
  }
  tokens: {
    /** List balances. The balances of a wallet of the project: the coin first, then tokens with a balance above zero. */
    balances: Method<'tokens_balances'>
    /** Get a token. What a token says about itself, or the coin of the network by its word. */
    get: Method<'tokens_get'>
    /** Create a token. On EVM networks an ERC-20 contract with EIP-2612, which the sender owns and mints; on Substrate networks an asset of pallet Assets. Its address or id is in the status of the transaction. */
    create: Method<'tokens_create'>
    /** Mint tokens. Of a token that lets the sender mint: one that it created, or another with `mint(address,uint256)`. */
    mint: Method<'tokens_mint'>
    /** Transfer tokens. Or the coin, from a wallet of the project to any address. Of a token that keeps a fee the recipient gets less: a preview says how much. */
    transfer: Method<'tokens_transfer'>
    /** Transfer tokens to several recipients. In one transaction: all of them, or nothing. On EVM networks a wallet of type `eoa` can do that with the coin and with tokens that were created here; others are refused with `batch_unsupported`. */
    batchTransfer: Method<'tokens_batch_transfer'>
  }
  addresses: {
    /** Describe addresses. Tokens, collections and other contracts, as they describe themselves. */
    metadata: Method<'addresses_metadata'>
    /** Look up a name. The address of an ENS name, on the network that has the registry of names. */
    lookupByName: Method<'addresses_lookup_by_name'>
  }
  jwks: {
    /** The public keys of access tokens. Pages of any origin may read them. A key is published from an hour before its first signature until its last token has expired. */
    get: Method<'jwks_get'>
  }
  users: {
    /** Prove a login. Takes exactly one proof: a mailed code, a signed message, a completed challenge or a passkey. */
    verifyLogin: Method<'users_verify_login'>
    /** Log in without a proof. Creates a user, who can add an e-mail address or a passkey later. 403 `anonymous_login_off` if the project does not allow it. */
    loginAnonymously: Method<'users_login_anonymously'>
    /** Refresh a session. Exchanges the refresh token for its successor. A token that was exchanged more than 10 s ago ends the session. */
    refreshToken: Method<'users_refresh_token'>
    /** Log out. Ends the session of the access token at once, and expires the session cookies. Also takes an expired access token. */
    logout: Method<'users_logout'>
    /** Log in with a wallet. Returns a nonce for an EIP-4361 message, or for the same message by a Substrate account. The domain and the URI must be of an allowed origin. Pass the signed message to verify-login. The answer does not reveal whether the wallet is known. */
    loginWithWallet: Method<'users_login_with_wallet'>
    /** Log in with a passkey that the user chooses. Pass the answer to navigator.credentials.get, and its result to verify-login as `passkey_credential_assertion_response`. */
    loginWithDiscoverablePasskey: Method<'users_login_with_discoverable_passkey'>
    /** Log in with a passkey of a user. Takes exactly one of the two fields. Only a passkey of that user completes the login. The answer does not reveal whether the user exists. */
    loginWithPasskey: Method<'users_login_with_passkey'>
    /** List a user's passkeys. Oldest first. */
    passkeys: Method<'users_passkeys'>
    /** Begin to add a passkey. Pass the answer to navigator.credentials.create, and its result to finish-registration. Requires a login within the last ten minutes, else 403 `fresh_login_required`. */
    passkeyBeginRegistration: Method<'users_passkey_begin_registration'>
    /** Add a passkey. Takes the browser's answer as JSON. 409 `passkey_exists` if the passkey is registered already. */
    passkeyFinishRegistration: Method<'users_passkey_finish_registration'>
    /** Remove a passkey. A user without an e-mail address and a wallet cannot remove their last passkey. Requires a login within the last ten minutes, else 403 `fresh_login_required`. */
    passkeyRemove: Method<'users_passkey_remove'>
    /** Add an e-mail address. Mails a code to the address. For a user who has no address yet. Requires a login within the last ten minutes, else 403 `fresh_login_required`. */
    addEmail: Method<'users_add_email'>
    /** Prove an added e-mail address. From then on the user can also log in with the address. 409 `email_taken` if another user of the project has it. */
    verifyEmail: Method<'users_verify_email'>
    /** Log in with a mailed code. Mails a code of 6 digits, valid for 10 minutes and 5 tries. A new code replaces the previous one. The answer does not reveal whether the address is known. */
    loginWithEmail: Method<'users_login_with_email'>
    /** Ask to be logged in by another device. Show the code. The user enters it on a device where they are logged in. Poll session-challenge until the challenge is completed, then pass the code to verify-login, with the `code_verifier`. Without a `code_challenge` the code is accepted only from the address that asked. Valid for five minutes and one session. */
    createSessionChallenge: Method<'users_create_session_challenge'>
    /** Log in with a mailed link. Mails a link to a page on which the user confirms the login. Only the link completes this challenge. The answer does not reveal whether the address is known. */
    loginWithMagicLink: Method<'users_login_with_magic_link'>
    /** Read a session challenge. Says whether it is completed or has expired. Poll at most once a second. The answer contains no token. */
    sessionChallenge: Method<'users_session_challenge'>
    /** See which device asks to be logged in. Show it to the user before they complete the challenge. */
    sessionChallengeAsker: Method<'users_session_challenge_asker'>
    /** Let another device in. Logs in the device that shows the code, as the calling user. First show the user which device asks. Requires a login within the last ten minutes, else 403 `fresh_login_required`. */
    completeSessionChallenge: Method<'users_complete_session_challenge'>
    /** List a user's own sessions. Live sessions, newest first. The list contains no token. */
    sessions: Method<'users_sessions'>
    /** End own sessions. Ends one session, or without a session_id all except the calling one. Their tokens are refused at once. */
    sessionsEnd: Method<'users_sessions_end'>
  }
}
