// Made of the OpenAPI document by client/generate.ts. Do not edit it.

export type paths = {
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["wallets_list"];
        put?: never;
        post: operations["wallets_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["wallets_import"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/change-user-pin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["wallets_change_user_pin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["wallets_export"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/put-under-policies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["wallets_put_under_policies"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/get-by-network": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["wallets_get_by_network"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/get-by-id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["wallets_get_by_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/get-by-address": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["wallets_get_by_address"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/get-by-owner-id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["wallets_get_by_owner_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/recovery-code": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["wallets_recovery_code"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/recovery-code/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["wallets_recovery_code_remove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/passkey-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["wallets_passkey_secret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/passkey-secret/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["wallets_passkey_secret_remove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/wallets/user-secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["wallets_user_secrets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["transactions_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["transactions_preview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions/preview-bundle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["transactions_preview_bundle"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions/sign": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["transactions_sign"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions/sign-and-send": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["transactions_sign_and_send"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions/batch-sign-and-send": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["transactions_batch_sign_and_send"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions/speed-up": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["transactions_speed_up"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["transactions_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["transactions_retry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions/status-by-hash": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["transactions_status_by_hash"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions/status-by-id": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["transactions_status_by_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions/sign-payload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["transactions_sign_payload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions/sign-message": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["transactions_sign_message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions/sign-authorization": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["transactions_sign_authorization"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions/preview-typed-data": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["transactions_preview_typed_data"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/transactions/sign-typed-data": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["transactions_sign_typed_data"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/nfts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["nfts_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/nfts/collections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["nfts_list_collections"];
        put?: never;
        post: operations["nfts_create_collection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/nfts/collection-by-address": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["nfts_collection_by_address"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/nfts/upload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["nfts_upload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/nfts/mint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["nfts_mint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/nfts/batch-mint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["nfts_batch_mint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/nfts/transfer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["nfts_transfer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/policies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["policies_list"];
        put?: never;
        post: operations["policies_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/policies/describe": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["policies_describe"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/policies/described": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["policies_described"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/policies/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["policies_revoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["approvals_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/approvals/begin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["approvals_begin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/approvals/decide": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["approvals_decide"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["webhooks_list"];
        put?: never;
        post: operations["webhooks_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/update": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["webhooks_update"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["webhooks_remove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["webhooks_rotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["webhooks_test"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["webhooks_replay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhooks/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["webhooks_deliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metadata/{file}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["metadata_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/activity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["activity_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["events_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokens/balances": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["tokens_balances"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokens/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["tokens_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["tokens_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokens/mint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["tokens_mint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokens/transfer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["tokens_transfer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokens/batch-transfer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["tokens_batch_transfer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/addresses/metadata": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["addresses_metadata"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/addresses/lookup-by-name": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["addresses_lookup_by_name"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/jwks.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["jwks_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/verify-login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_verify_login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/login-anonymously": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_login_anonymously"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/refresh-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_refresh_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/login-with-wallet": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_login_with_wallet"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/login-with-discoverable-passkey": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_login_with_discoverable_passkey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/login-with-passkey": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_login_with_passkey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/passkeys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["users_passkeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/passkey/begin-registration": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_passkey_begin_registration"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/passkey/finish-registration": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_passkey_finish_registration"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/passkey/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_passkey_remove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/add-email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_add_email"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/verify-email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_verify_email"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/login-with-email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_login_with_email"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/create-session-challenge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_create_session_challenge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/login-with-magic-link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_login_with_magic_link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/session-challenge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["users_session_challenge"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/session-challenge/asker": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["users_session_challenge_asker"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/complete-session-challenge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_complete_session_challenge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["users_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/sessions/end": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["users_sessions_end"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
};
export type webhooks = Record<string, never>;
export type components = {
    schemas: {
        /**
         * @description A stable word for programs. It is never renamed; later versions may have further codes.
         * @enum {string}
         */
        ErrorCode: "invalid_input" | "invalid_key" | "address_invalid" | "network_mismatch" | "network_required" | "page_too_deep" | "project_required" | "credential_required" | "credential_ambiguous" | "token_source_unsupported" | "passkey_domain_required" | "pin_obvious" | "execution_reverted" | "balance_insufficient" | "nonce_too_low" | "nonce_gap" | "fee_too_low" | "mint_unsupported" | "mint_unauthorized" | "mint_requires_value" | "batch_unsupported" | "unauthorized" | "project_unknown" | "login_failed" | "session_ended" | "project_mismatch" | "scope_required" | "user_session_required" | "fresh_login_required" | "anonymous_login_off" | "origin_not_allowed" | "project_not_activated" | "wallet_forbidden" | "INVALID_SECRET" | "TOO_MANY_FAILED_ATTEMPTS" | "frozen" | "policy_denied" | "under_policies" | "delegate_not_allowed" | "not_found" | "transaction_not_found" | "method_not_allowed" | "wallet_exists" | "nonce_conflict" | "transaction_not_waiting" | "credential_changed" | "approval_mismatch" | "approval_ended" | "contract_wallet_changed" | "repeat_refused" | "passkey_exists" | "email_exists" | "email_taken" | "challenge_expired" | "challenge_completed" | "idempotency_mismatch" | "events_gone" | "body_too_large" | "content_type_unsupported" | "content_encoding_unsupported" | "rate_limited" | "body_incomplete" | "internal" | "not_implemented" | "node_unavailable" | "wrong_chain" | "fee_ceiling_reached" | "metadata_untrusted" | "busy" | "unavailable" | (string & {});
        /**
         * @example {
         *       "error": "Field \"user_pin\" must be exactly 6 digits.",
         *       "code": "invalid_input"
         *     }
         */
        ErrorResponse: {
            /** @description One sentence: what was wrong, and what would be right. */
            error: string;
            code: components["schemas"]["ErrorCode"] | null;
        };
        /** Health */
        Health: {
            /** @constant */
            status: "ok";
        };
        /** Readiness */
        Readiness: {
            /** @constant */
            status: "ready";
            /**
             * @description By network: `ready`, `unreachable`, `wrong_chain`, or `stalled`: no worker has followed its blocks for half a minute, or its newest block is too old.
             * @example {
             *       "Ethereum": "ready"
             *     }
             */
            networks: {
                [key: string]: string;
            };
            /**
             * @description By node: each node of a network, numbered in the order of the variable `…_RPC_URL`.
             * @example {
             *       "Ethereum#1": "up",
             *       "Ethereum#2": "behind"
             *     }
             */
            nodes: {
                [key: string]: "up" | "behind" | "stalled" | "slow" | "failing" | "wrong_chain" | "resting" | "down";
            };
        };
        /**
         * Network
         * @description EVM networks: Ethereum, Polygon, Base, Avalanche. Substrate networks: Polkadot, Vara.
         * @example Ethereum
         * @enum {string}
         */
        Network: "Ethereum" | "Polygon" | "Base" | "Avalanche" | "Polkadot" | "Vara" | (string & {});
        /**
         * CreateWallet
         * @example {
         *       "network": "Ethereum",
         *       "name": "Main wallet",
         *       "owner_id": "user-1",
         *       "control_mode": "developer",
         *       "developer_secret": "testnet-secret"
         *     }
         */
        CreateWallet: {
            network: components["schemas"]["Network"];
            /**
             * @description The wallet's name.
             * @example Main wallet
             */
            name: string;
            /**
             * @description Your id of the owner. An owner has one seed phrase for all networks. By default a new UUID.
             * @example user-1
             */
            owner_id?: string;
            /**
             * @description Who controls the wallet: the developer with the developer secret, or the user with the PIN.
             * @enum {string}
             */
            control_mode: "developer" | "user";
            /**
             * @description `eoa`, the default: the address of the key itself. `contract`, on EVM networks: a Safe that the key controls. Its first transaction deploys it, and the address of the key pays the gas.
             * @enum {string}
             */
            type?: "eoa" | "contract";
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
        };
        /**
         * Wallet
         * @example {
         *       "id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "network": "Ethereum",
         *       "name": "Main wallet",
         *       "owner_id": "user-1",
         *       "address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
         *     }
         */
        Wallet: {
            /**
             * @description The wallet's id.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            id: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            network: components["schemas"]["Network"];
            /**
             * @description The name given at creation.
             * @example Main wallet
             */
            name: string;
            /**
             * @description Your id of the user that owns the wallet.
             * @example user-1
             */
            owner_id: string;
            /**
             * @description The wallet's address on the network.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            address: string;
        };
        /**
         * ImportWallet
         * @description The fields of a new wallet, and exactly one of `private_key` and `mnemonic_phrase`.
         * @example {
         *       "network": "Polkadot",
         *       "name": "Imported wallet",
         *       "owner_id": "user-2",
         *       "control_mode": "user",
         *       "user_pin": "493817",
         *       "mnemonic_phrase": "bottom drive obey lake curtain smoke basket hold race lonely fit walk"
         *     }
         */
        ImportWallet: {
            network: components["schemas"]["Network"];
            /**
             * @description The wallet's name.
             * @example Main wallet
             */
            name: string;
            /**
             * @description Your id of the owner. An owner has one seed phrase for all networks. By default a new UUID.
             * @example user-1
             */
            owner_id?: string;
            /**
             * @description Who controls the wallet: the developer with the developer secret, or the user with the PIN.
             * @enum {string}
             */
            control_mode: "developer" | "user";
            /**
             * @description `eoa`, the default: the address of the key itself. `contract`, on EVM networks: a Safe that the key controls. Its first transaction deploys it, and the address of the key pays the gas.
             * @enum {string}
             */
            type?: "eoa" | "contract";
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description 32 bytes in hex, with or without 0x: a private key on EVM networks, an sr25519 mini-secret on Substrate networks.
             * @example 0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d
             */
            private_key?: string;
            /**
             * @description 12, 15, 18, 21 or 24 English words (BIP-39). If the owner has no seed phrase yet, it becomes theirs for all networks.
             * @example bottom drive obey lake curtain smoke basket hold race lonely fit walk
             */
            mnemonic_phrase?: string;
        };
        /**
         * ChangeUserPin
         * @example {
         *       "network": "Ethereum",
         *       "address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "old_user_pin": "493817",
         *       "new_user_pin": "604913"
         *     }
         */
        ChangeUserPin: {
            network: components["schemas"]["Network"];
            /**
             * @description The address of one of the owner's user-controlled wallets.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            address: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            old_user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            new_user_pin: string;
        };
        /** Success */
        Success: {
            /** @constant */
            success: true;
        };
        /**
         * ExportWallet
         * @example {
         *       "network": "Ethereum",
         *       "address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "user_pin": "493817"
         *     }
         */
        ExportWallet: {
            network: components["schemas"]["Network"];
            /**
             * @description A wallet of the project.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            address: string;
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
        };
        /**
         * ExportedWallet
         * @example {
         *       "mnemonic_phrase": "bottom drive obey lake curtain smoke basket hold race lonely fit walk",
         *       "private_key": null
         *     }
         */
        ExportedWallet: {
            /** @description The phrase of the key; null for an imported private key. */
            mnemonic_phrase: string | null;
            /** @description The imported private key, 0x and 64 hex digits; null if there is a phrase. */
            private_key: string | null;
        };
        /**
         * PutUnderPolicies
         * @example {
         *       "network": "Ethereum",
         *       "address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "developer_secret": "testnet-secret"
         *     }
         */
        PutUnderPolicies: {
            network: components["schemas"]["Network"];
            /**
             * @description A developer-controlled wallet of the project.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            address: string;
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret: string;
        };
        /**
         * MakeRecoveryCode
         * @example {
         *       "network": "Ethereum",
         *       "address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "user_pin": "493817"
         *     }
         */
        MakeRecoveryCode: {
            network: components["schemas"]["Network"];
            /**
             * @description The address of one of the owner's user-controlled wallets.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            address: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
        };
        /**
         * RecoveryCode
         * @example {
         *       "recovery_code": "99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX"
         *     }
         */
        RecoveryCode: {
            /**
             * @description Show it to the user once, to be kept on paper or in a password manager. It is in no other answer.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            recovery_code: string;
        };
        /**
         * AddPasskeySecret
         * @example {
         *       "network": "Ethereum",
         *       "address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "user_pin": "493817",
         *       "passkey_id": "KEDetxZcUfinhVi6Za5nZQ",
         *       "passkey_secret": "w1JZcnJ4u9fPUdhGzBSbFRGQxM5s1sH1FSxvZJmE0bI"
         *     }
         */
        AddPasskeySecret: {
            network: components["schemas"]["Network"];
            /**
             * @description The address of one of the owner's user-controlled wallets.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            address: string;
            /**
             * @description The passkey's credential id in base64url, as the browser's `id` has it.
             * @example KEDetxZcUfinhVi6Za5nZQ
             */
            passkey_id: string;
            /**
             * @description The 32 bytes that the passkey computes with the WebAuthn extension `prf`, in base64url. Never anything that a person chose.
             * @example w1JZcnJ4u9fPUdhGzBSbFRGQxM5s1sH1FSxvZJmE0bI
             */
            passkey_secret: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
        };
        /**
         * RemovePasskeySecret
         * @example {
         *       "network": "Ethereum",
         *       "address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "user_pin": "493817",
         *       "passkey_id": "KEDetxZcUfinhVi6Za5nZQ"
         *     }
         */
        RemovePasskeySecret: {
            network: components["schemas"]["Network"];
            /**
             * @description The address of one of the owner's user-controlled wallets.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            address: string;
            /**
             * @description The passkey's credential id in base64url, as the browser's `id` has it.
             * @example KEDetxZcUfinhVi6Za5nZQ
             */
            passkey_id: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
        };
        /**
         * UserSecret
         * @example {
         *       "kind": "passkey",
         *       "passkey_id": "KEDetxZcUfinhVi6Za5nZQ",
         *       "created_at": "2026-01-31T12:00:00.000Z"
         *     }
         */
        UserSecret: {
            /**
             * @description What it is.
             * @example passkey
             * @enum {string}
             */
            kind: "recovery_code" | "passkey";
            /**
             * @description Of a passkey; null of a recovery code.
             * @example KEDetxZcUfinhVi6Za5nZQ
             */
            passkey_id: string | null;
            /**
             * Format: date-time
             * @description When it was made, or replaced the one before. ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
        };
        /**
         * ListedTransaction
         * @example {
         *       "transaction_id": "0a3f9c31-6a0e-4d8c-b6f2-743b06c0a4c2",
         *       "transaction_hash": "0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b",
         *       "network": "Ethereum",
         *       "status": "success",
         *       "contract_address": null,
         *       "wallet_address": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "kind": "send",
         *       "created_at": "2026-01-31T12:00:00.000Z"
         *     }
         */
        ListedTransaction: {
            /**
             * @description Our id of the transaction.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            transaction_id: string;
            /**
             * @description null until broadcast.
             * @example 0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b
             */
            transaction_hash: string | null;
            network: components["schemas"]["Network"];
            /**
             * @description `submitted` (recorded) → `pending` (broadcast) → `success` or `failed`.
             * @enum {string}
             */
            status: "submitted" | "pending" | "success" | "failed";
            /** @description Of a contract creation; the id of a collection that a Substrate runtime created; else null. */
            contract_address: string | null;
            /**
             * @description Why a transaction is in no block yet, if there is a special reason. `waiting_for_fees`: blocks ask for more than it offers at the moment; its fee is raised as far as possible, and it is not given up before fees fall. `nonce_used`: another transaction of the same key used its nonce; when that is final, the status becomes failed (`nonce_taken`). `unpayable`: its signer has too few coins for it; it goes on when that has more. `refused`: nodes refuse it for another reason, which `waiting_reason` says; it is sent again until it is given up, unless you cancel it before.
             * @enum {string}
             */
            waiting?: "waiting_for_fees" | "nonce_used" | "unpayable" | "refused";
            /**
             * @description Why nodes do not take it, for people; only with `unpayable` and `refused`.
             * @example Nodes refuse it: it has more bytes than nodes take.
             */
            waiting_reason?: string;
            /** @description Why it failed. */
            error?: string;
            /**
             * @description Why it failed, for programs; docs/errors.md says what to do about each.
             * @enum {string}
             */
            code?: "execution_reverted" | "contract_wallet_not_deployed" | "expired" | "nonce_taken" | "reorganised";
            /**
             * @description The wallet that it is of.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            wallet_address: string;
            /**
             * @description The endpoint that recorded it; `deployment`: that of a contract wallet, which goes before its first transaction.
             * @example send
             * @enum {string}
             */
            kind: "send" | "batch" | "mint" | "transfer" | "collection" | "token" | "token_mint" | "token_transfer" | "deployment";
            /**
             * Format: date-time
             * @description When it was recorded: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
        };
        /**
         * UnsignedTransaction
         * @description Absent fields are filled in from the chain.
         * @example {
         *       "to": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "value": "1000000000000000"
         *     }
         */
        UnsignedTransaction: {
            /**
             * @description Destination; absent for a contract creation, and on Substrate networks for a call in `input`.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            to?: string;
            /**
             * @description Amount of the native coin in base units (wei, planck). 0x hex or plain decimal digits.
             * @example 1000000000000000
             */
            value?: string;
            /**
             * @description Call data; on Substrate networks a SCALE-encoded call of the runtime, or with `to` a message to a program.
             * @example 0x
             */
            input?: string;
            /**
             * @description Gas limit; on Substrate networks only for messages to programs. 0x hex or plain decimal digits.
             * @example 21000
             */
            gasLimit?: string;
            /**
             * @description Priority fee cap, wei per gas; on Substrate networks the tip, in planck. 0x hex or plain decimal digits.
             * @example 1000000000
             */
            maxPriorityFeePerGas?: string;
            /**
             * @description Fee cap, wei per gas; only on the EVM networks. 0x hex or plain decimal digits.
             * @example 30000000000
             */
            maxFeePerGas?: string;
            /**
             * @description Price of the gas, wei; only on the EVM networks, and only to sign. It makes a transaction of type 0, or with `accessList` of type 1; the fee caps must then be absent. 0x hex or plain decimal digits.
             * @example 30000000000
             */
            gasPrice?: string;
            /** @description EIP-2930: contracts and storage slots that the transaction pays for in advance. Only on the EVM networks, and only to sign. */
            accessList?: {
                /**
                 * @description A contract.
                 * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
                 */
                address: string;
                /** @description At most 1024 in all. */
                storageKeys: string[];
            }[];
            /**
             * @description Only on the EVM networks. The type follows from the other fields; if it is given, it must be the same.
             * @example 2
             */
            type?: string;
            /**
             * @description Transaction count of the sender: for a wallet of type `contract`, of its key. 0x hex or plain decimal digits.
             * @example 0
             */
            nonce?: string;
            /**
             * @description Only on Substrate networks: how many blocks it may wait, a power of two; by default about five minutes. 0x hex or plain decimal digits.
             * @example 64
             */
            era?: string;
            /**
             * @description Only on a Substrate network whose runtime takes fees in assets: the fee is paid in this asset. The id of an asset of pallet Assets in plain decimal digits, or the name of an asset as in answers (`asset:1984`, `foreign:0x…`). If absent, the fee is paid in the coin.
             * @example 1984
             */
            asset_id?: string;
        };
        /**
         * PreviewTransaction
         * @example {
         *       "network": "Ethereum",
         *       "from": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "unsigned_transaction": {
         *         "to": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *         "value": "1000000000000000"
         *       }
         *     }
         */
        PreviewTransaction: {
            network?: components["schemas"]["Network"];
            /**
             * @description The sender; any address.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            from: string;
            unsigned_transaction: components["schemas"]["UnsignedTransaction"];
        };
        /** Token */
        Token: {
            /**
             * @description Derived from the network and the contract, so the same in every answer.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            uuid: string;
            network: components["schemas"]["Network"];
            /**
             * @description The token's contract. For an asset of a Substrate runtime its id: `asset:1984`, `pool:7` or `foreign:0x0201090704` (an XCM Location in SCALE). For a network's own coin a word: `ETH`, `MATIC`, `AVAX`, `DOT`, `VARA`.
             * @example ETH
             */
            contract_address: string;
            /**
             * @description The contract's name for itself; may be empty.
             * @example Ether
             */
            name: string;
            /**
             * @description The contract's symbol; may be empty.
             * @example ETH
             */
            symbol: string;
            /**
             * @description Decimals of the base unit; 0 for NFTs.
             * @example 18
             */
            decimals: number;
            /**
             * @description true if the contract does not say its decimals. Then `decimals` is 0, and amounts of the token are in base units. Absent otherwise.
             * @example true
             */
            decimals_unknown?: boolean;
            /**
             * @description How many decimals to display.
             * @example 6
             */
            display_decimals: number;
            /**
             * @description Empty if unknown.
             * @example
             */
            logo_url: string;
        };
        /**
         * NftCollection
         * @example {
         *       "network": "Ethereum",
         *       "contract_address": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
         *       "name": "Doors",
         *       "image_url": "https://example.com/door.png",
         *       "symbol": "DOOR"
         *     }
         */
        NftCollection: {
            network: components["schemas"]["Network"];
            contract_address: string;
            name: string;
            image_url: string;
            symbol: string;
        };
        /**
         * PreviewContract
         * @example {
         *       "network": "Ethereum",
         *       "address": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
         *       "type": "token",
         *       "name": "USD Coin",
         *       "logo_url": "",
         *       "token": {
         *         "uuid": "0f1e2d3c-4b5a-5697-8877-665544332211",
         *         "network": "Ethereum",
         *         "contract_address": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
         *         "name": "USD Coin",
         *         "symbol": "USDC",
         *         "decimals": 6,
         *         "display_decimals": 2,
         *         "logo_url": ""
         *       },
         *       "nft": null
         *     }
         */
        PreviewContract: {
            network: components["schemas"]["Network"];
            address: string;
            type: "token" | "nft" | "other";
            name: string;
            logo_url: string;
            token: components["schemas"]["Token"] | null;
            nft: components["schemas"]["NftCollection"] | null;
        };
        /** AssetChange */
        AssetChange: {
            /** @description For people: in whole coins. */
            amount: string;
            /** @description In base units. */
            raw_amount: string;
            from: string;
            to: string;
            token: components["schemas"]["Token"] | null;
            nft: {
                owner_wallet_address: string;
                contract_address: string;
                token_id: string;
                metadata: {
                    name: string;
                    description: string;
                    image: string;
                } | null;
            } | null;
        };
        /**
         * PolicyPreview
         * @description Whether a policy of the sender or signer allows this, after the transactions before it in a bundle. Absent unless it is a wallet within reach; a developer-controlled one must have a policy, which counts once the wallet is under policies. Gas and fees are judged only when it is signed.
         * @example {
         *       "allowed": true,
         *       "uuid": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "needs_approval": false,
         *       "never": null,
         *       "refusals": []
         *     }
         */
        PolicyPreview: {
            /** @description Whether the developer may do this with `developer_secret`. */
            allowed: boolean;
            uuid: string | null;
            /** @description Whether its approvers must agree first. Then the request is answered with 202. */
            needs_approval: boolean;
            /** @description Why no policy can allow it, in one sentence. */
            never: string | null;
            /** @description Why none allows it, oldest first; at most 20. */
            refusals: {
                /**
                 * @description The policy.
                 * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
                 */
                uuid: string;
                /**
                 * @description Why the policy does not allow it.
                 * @example rule_not_matched
                 * @enum {string}
                 */
                reason: "expired" | "used_up" | "value_exceeded" | "value_unknown" | "token_exceeded" | "token_unknown" | "rolling_exceeded" | "function_not_named" | "type_not_named" | "rule_not_matched";
                /** @description The first of its `argument_rules` that does not match, from 0. */
                rule: number | null;
            }[];
        };
        /**
         * PreviewResult
         * @example {
         *       "network": "Ethereum",
         *       "from": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "to": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
         *       "contract": {
         *         "network": "Ethereum",
         *         "address": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
         *         "type": "token",
         *         "name": "USD Coin",
         *         "logo_url": "",
         *         "token": {
         *           "uuid": "0f1e2d3c-4b5a-5697-8877-665544332211",
         *           "network": "Ethereum",
         *           "contract_address": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
         *           "name": "USD Coin",
         *           "symbol": "USDC",
         *           "decimals": 6,
         *           "display_decimals": 2,
         *           "logo_url": ""
         *         },
         *         "nft": null
         *       },
         *       "function_name": "transfer",
         *       "arguments": {
         *         "to": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *         "value": "2500000"
         *       },
         *       "simulation": {
         *         "success": true,
         *         "asset_changes": [
         *           {
         *             "amount": "2.5",
         *             "raw_amount": "2500000",
         *             "from": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *             "to": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *             "token": {
         *               "uuid": "0f1e2d3c-4b5a-5697-8877-665544332211",
         *               "network": "Ethereum",
         *               "contract_address": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
         *               "name": "USD Coin",
         *               "symbol": "USDC",
         *               "decimals": 6,
         *               "display_decimals": 2,
         *               "logo_url": ""
         *             },
         *             "nft": null
         *           }
         *         ],
         *         "error": null
         *       }
         *     }
         */
        PreviewResult: {
            network: components["schemas"]["Network"];
            from: string;
            /** @description Empty for a contract creation, and for a call of a Substrate runtime in `input`. */
            to: string;
            contract: components["schemas"]["PreviewContract"] | null;
            function_name: string | null;
            arguments: {
                [key: string]: unknown;
            } | null;
            simulation: {
                success: boolean;
                asset_changes: components["schemas"]["AssetChange"][] | null;
                error: string | null;
                /** @description Only with `asset_id`: the most that the fee may be in that asset. Less may be taken. */
                fee?: {
                    /** @description For people: in whole coins. */
                    amount: string;
                    /** @description In base units. */
                    raw_amount: string;
                    token: components["schemas"]["Token"];
                };
            } | null;
            policy?: components["schemas"]["PolicyPreview"];
            /**
             * @description What is odd about it, in sentences. Absent if nothing is.
             * @example [
             *       "It sends tokens to their own contract, where they are lost."
             *     ]
             */
            warnings?: string[];
        };
        /**
         * PreviewBundle
         * @example {
         *       "network": "Ethereum",
         *       "from": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "unsigned_transactions": [
         *         {
         *           "to": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *           "value": "1000000000000000"
         *         }
         *       ]
         *     }
         */
        PreviewBundle: {
            network?: components["schemas"]["Network"];
            /**
             * @description The sender; any address.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            from: string;
            unsigned_transactions: components["schemas"]["UnsignedTransaction"][];
        };
        /**
         * SignTransaction
         * @example {
         *       "network": "Ethereum",
         *       "signer_wallet_address": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "unsigned_transaction": {
         *         "to": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *         "value": "1000000000000000"
         *       },
         *       "developer_secret": "testnet-secret"
         *     }
         */
        SignTransaction: {
            network?: components["schemas"]["Network"];
            /**
             * @description A wallet of the project.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            signer_wallet_address: string;
            unsigned_transaction: components["schemas"]["UnsignedTransaction"];
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description The `approval_id` of the 202 answer. Repeat the same request with it once it is granted.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id?: string;
        };
        /**
         * RawTransaction
         * @description The raw signed transaction, as `eth_sendRawTransaction` takes it; on Substrate networks the extrinsic, as `author_submitExtrinsic` takes it.
         * @example 0x02f8720180843b9aca008506fc23ac008252089470997970c51812dc3a010c7d01b50e0d17dc79c887038d7ea4c6800080c001a07858ad1b4e8606c73d1cb38dcb446ce8d5e170de221b79e84e5f736b641a4abca0401146451658c50ec53c0b3d22f5a32f1b13cd2d4282ef9449115b80e207a8eb
         */
        RawTransaction: string;
        /**
         * WaitingApproval
         * @example {
         *       "approval_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "status": "waiting",
         *       "expires_at": "2026-01-31T12:00:00.000Z"
         *     }
         */
        WaitingApproval: {
            /**
             * @description Send the same request again with it, once it is granted.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id: string;
            /**
             * @example waiting
             * @constant
             */
            status: "waiting";
            /**
             * Format: date-time
             * @description It must be granted and used before this time.
             * @example 2026-01-31T12:00:00.000Z
             */
            expires_at: string;
        };
        /**
         * SendTransaction
         * @example {
         *       "network": "Ethereum",
         *       "signer_wallet_address": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "unsigned_transaction": {
         *         "to": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *         "value": "1000000000000000"
         *       },
         *       "developer_secret": "testnet-secret"
         *     }
         */
        SendTransaction: {
            network?: components["schemas"]["Network"];
            /**
             * @description A wallet of the project.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            signer_wallet_address: string;
            unsigned_transaction: components["schemas"]["UnsignedTransaction"];
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description The `approval_id` of the 202 answer. Repeat the same request with it once it is granted.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id?: string;
            /**
             * @description Send it even if it is `repeat_refused`.
             * @example true
             */
            allow_repeat?: boolean;
        };
        /** NftOperationResult */
        NftOperationResult: {
            /**
             * @description Our id of the transaction, which never changes.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            transaction_id: string;
            network: components["schemas"]["Network"];
            /**
             * @description `submitted` (recorded) → `pending` (broadcast) → `success` or `failed`.
             * @enum {string}
             */
            status: "submitted" | "pending" | "success" | "failed";
        };
        /**
         * BatchTransactions
         * @example {
         *       "network": "Ethereum",
         *       "signer_wallet_address": "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0",
         *       "unsigned_transactions": [
         *         {
         *           "to": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *           "value": "1000000000000000"
         *         },
         *         {
         *           "to": "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
         *           "value": "1000000000000000"
         *         }
         *       ],
         *       "developer_secret": "testnet-secret"
         *     }
         */
        BatchTransactions: {
            network?: components["schemas"]["Network"];
            /**
             * @description A wallet of the project, of type `contract`.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            signer_wallet_address: string;
            /** @description In order, each with `to`, `value` and `input`. Gas, fees and nonce are chosen for the whole batch. */
            unsigned_transactions: components["schemas"]["UnsignedTransaction"][];
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description The `approval_id` of the 202 answer. Repeat the same request with it once it is granted.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id?: string;
            /**
             * @description Send it even if it is `repeat_refused`.
             * @example true
             */
            allow_repeat?: boolean;
        };
        /**
         * SpeedUpTransaction
         * @example {
         *       "transaction_id": "0a3f9c31-6a0e-4d8c-b6f2-743b06c0a4c2",
         *       "developer_secret": "testnet-secret"
         *     }
         */
        SpeedUpTransaction: {
            /**
             * @description The transaction_id of an answer; it is in no block.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            transaction_id: string;
            /**
             * @description Fee cap, wei per gas, at least a tenth above what was sent; chosen by the service if absent. 0x hex or plain decimal digits.
             * @example 60000000000
             */
            maxFeePerGas?: string;
            /**
             * @description Priority fee cap, wei per gas; same rules. 0x hex or plain decimal digits.
             * @example 2000000000
             */
            maxPriorityFeePerGas?: string;
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description The `approval_id` of the 202 answer. Repeat the same request with it once it is granted.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id?: string;
        };
        /**
         * WaitingTransaction
         * @example {
         *       "transaction_id": "0a3f9c31-6a0e-4d8c-b6f2-743b06c0a4c2"
         *     }
         */
        WaitingTransaction: {
            /**
             * @description The transaction_id of an answer; it is in no block.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            transaction_id: string;
        };
        /**
         * TransactionStatus
         * @example {
         *       "transaction_hash": "0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b",
         *       "network": "Ethereum",
         *       "status": "success",
         *       "contract_address": null
         *     }
         */
        TransactionStatus: {
            /**
             * @description null until broadcast.
             * @example 0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b
             */
            transaction_hash: string | null;
            network: components["schemas"]["Network"];
            /**
             * @description `submitted` (recorded) → `pending` (broadcast) → `success` or `failed`.
             * @enum {string}
             */
            status: "submitted" | "pending" | "success" | "failed";
            /** @description Of a contract creation; the id of a collection that a Substrate runtime created; else null. */
            contract_address: string | null;
        };
        /**
         * TransactionStatusById
         * @example {
         *       "transaction_id": "0a3f9c31-6a0e-4d8c-b6f2-743b06c0a4c2",
         *       "transaction_hash": "0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b",
         *       "network": "Ethereum",
         *       "status": "success",
         *       "contract_address": null
         *     }
         */
        TransactionStatusById: {
            /**
             * @description Our id of the transaction.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            transaction_id: string;
            /**
             * @description null until broadcast.
             * @example 0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b
             */
            transaction_hash: string | null;
            network: components["schemas"]["Network"];
            /**
             * @description `submitted` (recorded) → `pending` (broadcast) → `success` or `failed`.
             * @enum {string}
             */
            status: "submitted" | "pending" | "success" | "failed";
            /** @description Of a contract creation; the id of a collection that a Substrate runtime created; else null. */
            contract_address: string | null;
            /**
             * @description Why a transaction is in no block yet, if there is a special reason. `waiting_for_fees`: blocks ask for more than it offers at the moment; its fee is raised as far as possible, and it is not given up before fees fall. `nonce_used`: another transaction of the same key used its nonce; when that is final, the status becomes failed (`nonce_taken`). `unpayable`: its signer has too few coins for it; it goes on when that has more. `refused`: nodes refuse it for another reason, which `waiting_reason` says; it is sent again until it is given up, unless you cancel it before.
             * @enum {string}
             */
            waiting?: "waiting_for_fees" | "nonce_used" | "unpayable" | "refused";
            /**
             * @description Why nodes do not take it, for people; only with `unpayable` and `refused`.
             * @example Nodes refuse it: it has more bytes than nodes take.
             */
            waiting_reason?: string;
            /** @description Why it failed. */
            error?: string;
            /**
             * @description Why it failed, for programs; docs/errors.md says what to do about each.
             * @enum {string}
             */
            code?: "execution_reverted" | "contract_wallet_not_deployed" | "expired" | "nonce_taken" | "reorganised";
        };
        /**
         * SignerPayload
         * @description `SignerPayloadJSON` of @polkadot/api.
         * @example {
         *       "address": "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
         *       "assetId": null,
         *       "blockHash": "0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b",
         *       "blockNumber": "0x00a1b2c0",
         *       "era": "0x0500",
         *       "genesisHash": "0x68d56f15f85d3136970ec16946040bc1752654e906147f7e43e9d539d7c3de2f",
         *       "metadataHash": null,
         *       "method": "0x0a0300d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d04",
         *       "mode": 0,
         *       "nonce": "0x00000000",
         *       "signedExtensions": [
         *         "CheckNonZeroSender",
         *         "CheckSpecVersion",
         *         "CheckTxVersion",
         *         "CheckGenesis",
         *         "CheckMortality"
         *       ],
         *       "specVersion": "0x000f4240",
         *       "tip": "0x00000000000000000000000000000000",
         *       "transactionVersion": "0x0000000f",
         *       "version": 4
         *     }
         */
        SignerPayload: {
            /**
             * @description The account that signs: that of `signer_wallet_address`, with any prefix.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            address: string;
            /**
             * @description The call in SCALE.
             * @example 0x0a0300d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d04
             */
            method: string;
            /**
             * @description A mortal era of 2 bytes, or `0x00` for an immortal extrinsic.
             * @example 0x0500
             */
            era: string;
            /**
             * @description The block where the era begins; for an immortal extrinsic the genesis block.
             * @example 0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b
             */
            blockHash: string;
            /**
             * @description The number of that block. 0x hex or plain decimal digits.
             * @example 0x00a1b2c0
             */
            blockNumber: string;
            /**
             * @description The genesis block of the network.
             * @example 0x68d56f15f85d3136970ec16946040bc1752654e906147f7e43e9d539d7c3de2f
             */
            genesisHash: string;
            /**
             * @description Transaction count of the signer. 0x hex or plain decimal digits.
             * @example 0x00000000
             */
            nonce: string;
            /**
             * @description The tip, in planck or in base units of the asset that pays the fee. 0x hex or plain decimal digits.
             * @example 0x00000000000000000000000000000000
             */
            tip: string;
            /**
             * @description The asset that pays the fee, as an Option in SCALE; null: the coin.
             * @example 0x01c0070000
             */
            assetId?: string | null;
            /**
             * @description The version of the runtime. 0x hex or plain decimal digits.
             * @example 0x000f4240
             */
            specVersion: string;
            /**
             * @description The version of its transactions. 0x hex or plain decimal digits.
             * @example 0x0000000f
             */
            transactionVersion: string;
            /** @description The runtime's signed extensions, in their order. */
            signedExtensions: string[];
            /**
             * @description 1: the signature covers the hash of the metadata. By default 0.
             * @example 0
             */
            mode?: number;
            /**
             * @description The hash of the metadata (RFC 78), in mode 1.
             * @example 0x5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e
             */
            metadataHash?: string | null;
            /**
             * @description The version of the extrinsic.
             * @example 4
             */
            version: number;
            /**
             * @description It is not signed, and changes nothing.
             * @example false
             */
            withSignedTransaction?: boolean;
        };
        /**
         * SignPayload
         * @example {
         *       "network": "Polkadot",
         *       "signer_wallet_address": "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
         *       "payload": {
         *         "address": "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
         *         "assetId": null,
         *         "blockHash": "0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b",
         *         "blockNumber": "0x00a1b2c0",
         *         "era": "0x0500",
         *         "genesisHash": "0x68d56f15f85d3136970ec16946040bc1752654e906147f7e43e9d539d7c3de2f",
         *         "metadataHash": null,
         *         "method": "0x0a0300d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d04",
         *         "mode": 0,
         *         "nonce": "0x00000000",
         *         "signedExtensions": [
         *           "CheckNonZeroSender",
         *           "CheckSpecVersion",
         *           "CheckTxVersion",
         *           "CheckGenesis",
         *           "CheckMortality"
         *         ],
         *         "specVersion": "0x000f4240",
         *         "tip": "0x00000000000000000000000000000000",
         *         "transactionVersion": "0x0000000f",
         *         "version": 4
         *       },
         *       "developer_secret": "testnet-secret"
         *     }
         */
        SignPayload: {
            network?: components["schemas"]["Network"];
            /**
             * @description A wallet of the project.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            signer_wallet_address: string;
            payload: components["schemas"]["SignerPayload"];
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description The `approval_id` of the 202 answer. Repeat the same request with it once it is granted.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id?: string;
        };
        /**
         * SignedPayload
         * @example {
         *       "signature": "0x015e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e"
         *     }
         */
        SignedPayload: {
            /**
             * @description Hex: the byte that names its type (`01`, sr25519), then the signature, 64 bytes.
             * @example 0x015e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e
             */
            signature: string;
        };
        /**
         * SignMessage
         * @example {
         *       "network": "Ethereum",
         *       "signer_wallet_address": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "message": "Strongroom says hello.",
         *       "developer_secret": "testnet-secret"
         *     }
         * @example {
         *       "network": "Ethereum",
         *       "signer_wallet_address": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "message": "0xdeadbeef",
         *       "message_type": "bytes",
         *       "user_pin": "493817"
         *     }
         */
        SignMessage: {
            network?: components["schemas"]["Network"];
            /**
             * @description A wallet of the project.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            signer_wallet_address: string;
            /**
             * @description A text, or `0x` hex of whole bytes; it may be empty (`""`, or `0x` for bytes).
             * @example Strongroom says hello.
             */
            message: string;
            /**
             * @description `string`, the default: the message is the text in UTF-8, even if it looks like hex; `bytes`: the bytes of the hex.
             * @enum {string}
             */
            message_type?: "string" | "bytes";
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
        };
        /** SignedMessage */
        SignedMessage: {
            /**
             * @description Hex. For a wallet of type `eoa` by EIP-191, 65 bytes; for type `contract` by ERC-1271, wrapped as in ERC-6492 until it is deployed. On Substrate networks sr25519, 64 bytes, over the message between `<Bytes>` and `</Bytes>`.
             * @example 0x5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e1b
             */
            signature: string;
        };
        /**
         * SignAuthorization
         * @example {
         *       "network": "Ethereum",
         *       "signer_wallet_address": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "authorization": {
         *         "contract_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
         *       },
         *       "developer_secret": "testnet-secret"
         *     }
         */
        SignAuthorization: {
            network?: components["schemas"]["Network"];
            /**
             * @description A wallet of the project, of type `eoa`.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            signer_wallet_address: string;
            authorization: {
                /**
                 * @description The delegate, whose code the account then runs: one that the operator allowed for the project. The zero address ends a delegation.
                 * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
                 */
                contract_address: string;
                /**
                 * @description If it is given, it must be the chain id of the network. 0x hex or plain decimal digits.
                 * @example 11155111
                 */
                chain_id?: string;
                /**
                 * @description Transaction count of the account when a block takes the authorisation. By default the next one, for a transaction that another account sends. If the account itself sends it, the nonce of the transaction plus 1. 0x hex or plain decimal digits.
                 * @example 0
                 */
                nonce?: string;
            };
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
        };
        /** SignedAuthorization */
        SignedAuthorization: {
            /** @example 11155111 */
            chain_id: number;
            /**
             * @description The delegate.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            address: string;
            /**
             * @description For which transaction count of the account it is valid.
             * @example 0
             */
            nonce: number;
            /**
             * @description 0 or 1.
             * @example 1
             */
            y_parity: number;
            /**
             * @description r of the signature, 32 bytes.
             * @example 0x5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e
             */
            r: string;
            /**
             * @description s of the signature, 32 bytes.
             * @example 0x5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e
             */
            s: string;
        };
        /**
         * TypedDataDomain
         * @description All members are optional.
         * @example {
         *       "name": "USD Coin",
         *       "version": "2",
         *       "chainId": 11155111,
         *       "verifyingContract": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
         *     }
         */
        TypedDataDomain: {
            /**
             * @description The name of the app or the token.
             * @example USD Coin
             */
            name?: string;
            /**
             * @description Its version.
             * @example 2
             */
            version?: string;
            /**
             * @description The chain id of the network. Without it the signature is valid on every chain.
             * @example 11155111
             */
            chainId?: number | string;
            /**
             * @description The contract that checks the signature.
             * @example 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48
             */
            verifyingContract?: string;
            /**
             * @description 32 bytes in 0x hex; rarely used.
             * @example 0x0000000000000000000000000000000000000000000000000000000000000000
             */
            salt?: string;
        };
        /** TypedDataMember */
        TypedDataMember: {
            /**
             * @description The name of the member.
             * @example spender
             */
            name: string;
            /**
             * @description A type of EIP-712, or another struct; perhaps a list.
             * @example address
             */
            type: string;
        };
        /**
         * TypedData
         * @description As `eth_signTypedData_v4` takes it (EIP-712).
         * @example {
         *       "domain": {
         *         "name": "USD Coin",
         *         "version": "2",
         *         "chainId": 11155111,
         *         "verifyingContract": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
         *       },
         *       "types": {
         *         "Permit": [
         *           {
         *             "name": "owner",
         *             "type": "address"
         *           },
         *           {
         *             "name": "spender",
         *             "type": "address"
         *           },
         *           {
         *             "name": "value",
         *             "type": "uint256"
         *           },
         *           {
         *             "name": "nonce",
         *             "type": "uint256"
         *           },
         *           {
         *             "name": "deadline",
         *             "type": "uint256"
         *           }
         *         ]
         *       },
         *       "primaryType": "Permit",
         *       "message": {
         *         "owner": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *         "spender": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *         "value": "2500000",
         *         "nonce": 0,
         *         "deadline": "1893456000"
         *       }
         *     }
         */
        TypedData: {
            domain: components["schemas"]["TypedDataDomain"];
            /**
             * @description The structs by name. `EIP712Domain` may be left out: it follows from the domain.
             * @example {
             *       "Permit": [
             *         {
             *           "name": "owner",
             *           "type": "address"
             *         },
             *         {
             *           "name": "spender",
             *           "type": "address"
             *         },
             *         {
             *           "name": "value",
             *           "type": "uint256"
             *         },
             *         {
             *           "name": "nonce",
             *           "type": "uint256"
             *         },
             *         {
             *           "name": "deadline",
             *           "type": "uint256"
             *         }
             *       ]
             *     }
             */
            types: {
                [key: string]: components["schemas"]["TypedDataMember"][];
            };
            /**
             * @description The struct of the message.
             * @example Permit
             */
            primaryType: string;
            /**
             * @description Integers as JSON numbers below 2^53, or as texts in plain decimal digits or 0x hex; bytes and addresses as 0x hex.
             * @example {
             *       "owner": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
             *       "spender": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
             *       "value": "2500000",
             *       "nonce": 0,
             *       "deadline": "1893456000"
             *     }
             */
            message: {
                [key: string]: unknown;
            };
        };
        /**
         * PreviewTypedData
         * @example {
         *       "network": "Ethereum",
         *       "signer_wallet_address": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "typed_data": {
         *         "domain": {
         *           "name": "USD Coin",
         *           "version": "2",
         *           "chainId": 11155111,
         *           "verifyingContract": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
         *         },
         *         "types": {
         *           "Permit": [
         *             {
         *               "name": "owner",
         *               "type": "address"
         *             },
         *             {
         *               "name": "spender",
         *               "type": "address"
         *             },
         *             {
         *               "name": "value",
         *               "type": "uint256"
         *             },
         *             {
         *               "name": "nonce",
         *               "type": "uint256"
         *             },
         *             {
         *               "name": "deadline",
         *               "type": "uint256"
         *             }
         *           ]
         *         },
         *         "primaryType": "Permit",
         *         "message": {
         *           "owner": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *           "spender": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *           "value": "2500000",
         *           "nonce": 0,
         *           "deadline": "1893456000"
         *         }
         *       }
         *     }
         */
        PreviewTypedData: {
            network?: components["schemas"]["Network"];
            /**
             * @description The signer; any address.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            signer_wallet_address: string;
            typed_data: components["schemas"]["TypedData"];
        };
        /** TypedDataChange */
        TypedDataChange: {
            /**
             * @description `may_take`: `to` may take up to the amount later. `sends`, `receives`: when the signature is used. These have the fields of an asset change. `calls`: a call of a Safe. `states`: a value of typed data that is not known.
             * @example may_take
             * @enum {string}
             */
            effect: "may_take" | "sends" | "receives" | "calls" | "states";
            /**
             * @description For people: in whole coins; `unlimited` if it has no limit.
             * @example 2.5
             */
            amount?: string;
            /** @description In base units. */
            raw_amount?: string;
            from?: string;
            to?: string;
            token?: components["schemas"]["Token"] | null;
            nft?: {
                owner_wallet_address: string;
                contract_address: string;
                token_id: string;
                metadata: {
                    name: string;
                    description: string;
                    image: string;
                } | null;
            } | null;
            call?: components["schemas"]["PreviewResult"];
            /**
             * @description The place of a value in the message.
             * @example from.name
             */
            path?: string;
            /**
             * @description The type of a value.
             * @example string
             */
            type?: string;
            /**
             * @description A value as in the request.
             * @example Cow
             */
            value?: string;
        };
        /**
         * TypedDataPreview
         * @example {
         *       "kind": "permit",
         *       "summary": "Let 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 take up to 2.5 “USDC” from this wallet; it can be submitted until 2030-01-01T00:00:00.000Z.",
         *       "primary_type": "Permit",
         *       "domain": {
         *         "name": "USD Coin",
         *         "version": "2",
         *         "chainId": 11155111,
         *         "verifyingContract": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
         *       },
         *       "changes": [
         *         {
         *           "effect": "may_take",
         *           "amount": "2.5",
         *           "raw_amount": "2500000",
         *           "from": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *           "to": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *           "token": {
         *             "uuid": "0f1e2d3c-4b5a-5697-8877-665544332211",
         *             "network": "Ethereum",
         *             "contract_address": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
         *             "name": "USD Coin",
         *             "symbol": "USDC",
         *             "decimals": 6,
         *             "display_decimals": 2,
         *             "logo_url": ""
         *           },
         *           "nft": null
         *         }
         *       ],
         *       "warnings": [
         *         "The spender 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 is an account: whoever has its key can take the tokens."
         *       ]
         *     }
         */
        TypedDataPreview: {
            /**
             * @description By the text of its type: `permit` (ERC-2612, DAI), `permit2_allowance` and `permit2_transfer`, `transfer_authorization` and `authorization_cancelled` (ERC-3009), `safe_transaction`, `safe_message`, `seaport_order`, `seaport_bulk_order`; `unknown` for any other.
             * @example permit
             * @enum {string}
             */
            kind: "permit" | "permit2_allowance" | "permit2_transfer" | "transfer_authorization" | "authorization_cancelled" | "safe_transaction" | "safe_message" | "seaport_order" | "seaport_bulk_order" | "unknown";
            /** @description What it does, in one sentence. Texts of others are between “ and ”. */
            summary: string;
            /**
             * @description As in the request.
             * @example Permit
             */
            primary_type: string;
            domain: components["schemas"]["TypedDataDomain"];
            /** @description What it moves or lets others take, or the calls of a Safe. Of unknown typed data all values. */
            changes: components["schemas"]["TypedDataChange"][];
            /** @description What is dangerous or odd about it; empty if nothing is. */
            warnings: string[];
            policy?: components["schemas"]["PolicyPreview"];
        };
        /**
         * SignTypedData
         * @example {
         *       "network": "Ethereum",
         *       "signer_wallet_address": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "typed_data": {
         *         "domain": {
         *           "name": "USD Coin",
         *           "version": "2",
         *           "chainId": 11155111,
         *           "verifyingContract": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
         *         },
         *         "types": {
         *           "Permit": [
         *             {
         *               "name": "owner",
         *               "type": "address"
         *             },
         *             {
         *               "name": "spender",
         *               "type": "address"
         *             },
         *             {
         *               "name": "value",
         *               "type": "uint256"
         *             },
         *             {
         *               "name": "nonce",
         *               "type": "uint256"
         *             },
         *             {
         *               "name": "deadline",
         *               "type": "uint256"
         *             }
         *           ]
         *         },
         *         "primaryType": "Permit",
         *         "message": {
         *           "owner": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *           "spender": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *           "value": "2500000",
         *           "nonce": 0,
         *           "deadline": "1893456000"
         *         }
         *       },
         *       "developer_secret": "testnet-secret"
         *     }
         */
        SignTypedData: {
            network?: components["schemas"]["Network"];
            /**
             * @description A wallet of the project.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            signer_wallet_address: string;
            typed_data: components["schemas"]["TypedData"];
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description The `approval_id` of the 202 answer. Repeat the same request with it once it is granted.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id?: string;
        };
        /**
         * SignedTypedData
         * @example {
         *       "signature": "0x5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e1b"
         *     }
         */
        SignedTypedData: {
            /**
             * @description Hex. For a wallet of type `eoa` 65 bytes, r, s, v; for type `contract` by ERC-1271, wrapped as in ERC-6492 until it is deployed.
             * @example 0x5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e1b
             */
            signature: string;
        };
        /**
         * NftMetadata
         * @example {
         *       "name": "Door #1",
         *       "description": "A red door.",
         *       "image": "ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"
         *     }
         */
        NftMetadata: {
            name: string;
            description: string;
            image: string;
        };
        /** Nft */
        Nft: {
            /**
             * @description The wallet that holds it.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            owner_wallet_address: string;
            /**
             * @description Its collection.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            contract_address: string;
            /**
             * @description The token id within the collection, in decimal digits.
             * @example 1
             */
            token_id: string;
            /** @description null unless the metadata is hosted here or contained in the token URI; nothing else is fetched. */
            metadata: components["schemas"]["NftMetadata"] | null;
        };
        /**
         * CreateCollection
         * @example {
         *       "network": "Ethereum",
         *       "name": "Doors",
         *       "symbol": "DOOR",
         *       "image_url": "https://example.com/door.png",
         *       "developer_secret": "testnet-secret"
         *     }
         */
        CreateCollection: {
            network: components["schemas"]["Network"];
            /**
             * @description The sending wallet; by default the project's own wallet on the network.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            from?: string;
            /**
             * @description The collection's name.
             * @example Doors
             */
            name: string;
            /**
             * @description `erc721` by default: each NFT is one of its kind. `erc1155`: each has any number of pieces. Only on EVM networks.
             * @example erc721
             * @enum {string}
             */
            standard?: "erc721" | "erc1155";
            /**
             * @description The collection's symbol.
             * @example DOOR
             */
            symbol: string;
            /**
             * @description The URI of the collection's image. The server never fetches it.
             * @example ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi
             */
            image_url: string;
            /**
             * @description The prefix of token URIs for tokens minted without their own URI. Only on EVM networks. The server never fetches it.
             * @example ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi
             */
            base_uri?: string;
            /**
             * @description The royalty of ERC-2981 in ten-thousandths of each sale; none by default. Only on EVM networks.
             * @example 250
             */
            royalty_basis_points?: number;
            /**
             * @description Who gets the royalty; by default the sender.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            royalty_recipient?: string;
            /**
             * @description Whether an NFT stays with whom it was minted to (ERC-5192); false by default.
             * @example false
             */
            soulbound?: boolean;
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description The `approval_id` of the 202 answer. Repeat the same request with it once it is granted.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id?: string;
            /**
             * @description Send it even if it is `repeat_refused`.
             * @example true
             */
            allow_repeat?: boolean;
        };
        /** UploadImage */
        UploadImage: {
            /**
             * Format: binary
             * @description A PNG, JPEG, GIF or WebP image. Its first bytes decide, not its name or type. SVG is refused.
             */
            file: string;
        };
        /**
         * UploadedImage
         * @example {
         *       "url": "https://wallets.example.org/metadata/9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b.png"
         *     }
         */
        UploadedImage: {
            /**
             * @description Its URL at this service, for `image` and `image_url`. It never changes.
             * @example https://wallets.example.org/metadata/9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b.png
             */
            url: string;
        };
        /**
         * MetadataToHost
         * @description EIP-721 metadata, hosted under the digest of its text.
         * @example {
         *       "name": "Door #1",
         *       "description": "A red door.",
         *       "image": "ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"
         *     }
         */
        MetadataToHost: {
            /**
             * @description The token's name.
             * @example Door #1
             */
            name: string;
            /**
             * @description A description of the token.
             * @example A red door.
             */
            description: string;
            /**
             * @description The URI of the token's image. The server never fetches it.
             * @example ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi
             */
            image: string;
        };
        /**
         * MintNft
         * @example {
         *       "network": "Ethereum",
         *       "contract_address": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
         *       "recipient": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "metadata": {
         *         "name": "Door #1",
         *         "description": "A red door.",
         *         "image": "ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"
         *       },
         *       "developer_secret": "testnet-secret"
         *     }
         */
        MintNft: {
            network?: components["schemas"]["Network"];
            /**
             * @description The sending wallet; by default the project's own wallet on the network.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            from?: string;
            /**
             * @description The collection: its address; on Substrate networks its id in decimal digits, or its program id where collections are programs.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            contract_address: string;
            /**
             * @description Who gets the NFT; by default the sender.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            recipient?: string;
            metadata?: components["schemas"]["MetadataToHost"];
            /**
             * @description The URI of an existing EIP-721 metadata document; instead of `metadata`. The server never fetches it.
             * @example ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi
             */
            uri?: string;
            /**
             * @description An existing ERC-1155 token, to mint more pieces of it; by default a new one. 0x hex or plain decimal digits.
             * @example 1
             */
            token_id?: string;
            /**
             * @description How many pieces of an ERC-1155 token; 1 by default. For other tokens it must be absent.
             * @example 1
             */
            amount?: string;
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description The `approval_id` of the 202 answer. Repeat the same request with it once it is granted.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id?: string;
            /**
             * @description Send it even if it is `repeat_refused`.
             * @example true
             */
            allow_repeat?: boolean;
        };
        /**
         * NftToMint
         * @example {
         *       "recipient": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
         *     }
         */
        NftToMint: {
            /**
             * @description Who gets the NFT; by default the sender.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            recipient?: string;
            metadata?: components["schemas"]["MetadataToHost"];
            /**
             * @description An existing ERC-1155 token, to mint more pieces of it; by default a new one. 0x hex or plain decimal digits.
             * @example 1
             */
            token_id?: string;
            /**
             * @description How many pieces of an ERC-1155 token; 1 by default. For other tokens it must be absent.
             * @example 1
             */
            amount?: string;
        };
        /**
         * BatchMintNfts
         * @example {
         *       "network": "Ethereum",
         *       "contract_address": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
         *       "mints": [
         *         {
         *           "recipient": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
         *         },
         *         {
         *           "recipient": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
         *         }
         *       ],
         *       "developer_secret": "testnet-secret"
         *     }
         */
        BatchMintNfts: {
            network?: components["schemas"]["Network"];
            /**
             * @description The sending wallet; by default the project's own wallet on the network.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            from?: string;
            /**
             * @description The collection: its address; on Substrate networks its id in decimal digits, or its program id where collections are programs.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            contract_address: string;
            mints: components["schemas"]["NftToMint"][];
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description The `approval_id` of the 202 answer. Repeat the same request with it once it is granted.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id?: string;
            /**
             * @description Send it even if it is `repeat_refused`.
             * @example true
             */
            allow_repeat?: boolean;
        };
        /**
         * TransferNft
         * @example {
         *       "network": "Ethereum",
         *       "from": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "contract_address": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
         *       "recipient": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "token_id": "1",
         *       "developer_secret": "testnet-secret"
         *     }
         */
        TransferNft: {
            network?: components["schemas"]["Network"];
            /**
             * @description The wallet that holds the NFT.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            from: string;
            /**
             * @description The collection: its address; on Substrate networks its id in decimal digits, or its program id where collections are programs.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            contract_address: string;
            /**
             * @description Who gets the NFT.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            recipient: string;
            /**
             * @description The token. 0x hex or plain decimal digits.
             * @example 1
             */
            token_id: string;
            /**
             * @description How many pieces of an ERC-1155 token; 1 by default, and always 1 for other tokens.
             * @example 1
             */
            amount?: string;
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description The `approval_id` of the 202 answer. Repeat the same request with it once it is granted.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id?: string;
            /**
             * @description Send it even if it is `repeat_refused`.
             * @example true
             */
            allow_repeat?: boolean;
        };
        /**
         * ArgumentRule
         * @description A rule never matches a transaction without the argument.
         * @example {
         *       "argument": "decodedInput.function",
         *       "operator": "eq",
         *       "value": "safeMint(address,string)",
         *       "selector": "0xd204c45e",
         *       "declaration": "safeMint(address to, string uri)"
         *     }
         */
        ArgumentRule: {
            /**
             * @description What to compare: `to`, `value`, `decodedInput.function`, or a decoded argument by its name, or by its number from 0 if it has none. Use dots for elements of tuples and arrays, and `length` for the length of an array. For typed data `typedData.primaryType` and `typedData.verifyingContract`, both `eq`, and perhaps `typedData.message.` with a member.
             * @example decodedInput.function
             */
            argument: string;
            /**
             * @description Only integers can be ordered.
             * @example eq
             * @enum {string}
             */
            operator: "eq" | "ne" | "gt" | "ge" | "lt" | "le";
            /**
             * @description An address, an integer in plain decimal digits or 0x hex, 0x bytes, true or false, or a text. For `decodedInput.function` the name, or the whole signature if several functions have it (`pallet.call` on Substrate networks). For `typedData.primaryType` the name, or the whole text of the type as EIP-712 encodes it.
             * @example safeMint(address,string)
             */
            value: string;
            /**
             * @description The selector of the function that may be called. Answers of EVM networks have it, together with `declaration`. Optional in a request; if present, both must equal the current ones.
             * @example 0xd204c45e
             */
            selector?: string;
            /**
             * @description The function as known when the policy was created. Only this is used to read calls.
             * @example safeMint(address to, string uri)
             */
            declaration?: string;
        };
        /**
         * TokenLimit
         * @example {
         *       "contract_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "max_total": "1000000",
         *       "per_seconds": 86400
         *     }
         */
        TokenLimit: {
            /**
             * @description The contract of an ERC-20 token.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            contract_address: string;
            /**
             * @description The most, in base units of the token, of all calls of `transfer`, `transferFrom`, `approve`, `increaseAllowance` and `permit` together. Anything else that is sent to the contract is refused.
             * @example 1000000
             */
            max_total: string;
            /**
             * @description Then the limit holds in any time of so many seconds, and otherwise for all uses together.
             * @example 86400
             */
            per_seconds?: number;
        };
        /**
         * RollingLimit
         * @example {
         *       "per_seconds": 86400,
         *       "max_total_value": "1000000000000000",
         *       "max_uses": 100
         *     }
         */
        RollingLimit: {
            /**
             * @description The limit holds in any time of so many seconds.
             * @example 86400
             */
            per_seconds: number;
            /**
             * @description The most of the native coin, in base units, that may be sent in this time.
             * @example 1000000000000000
             */
            max_total_value?: string;
            /**
             * @description The most transactions in this time; a batch counts as one.
             * @example 100
             */
            max_uses?: number;
        };
        /**
         * RequireApproval
         * @description Each use needs approval first. The first request is answered with 202; once the approval is granted, repeat the same request with `approval_id`.
         * @example {
         *       "of": 1,
         *       "from": [
         *         "3b1f0c6e-8d2a-4f57-9c41-6e0d7a5b2c18"
         *       ]
         *     }
         */
        RequireApproval: {
            /**
             * @description How many different users must approve each use.
             * @example 2
             */
            of: number;
            /**
             * @description Who may approve: users of the project who have a passkey now. If absent, every user who has a passkey may approve, also customers of the app: better name them. Required in a request with an access token.
             * @example [
             *       "3b1f0c6e-8d2a-4f57-9c41-6e0d7a5b2c18"
             *     ]
             */
            from?: string[];
            /**
             * @description How long after the request the approval can be granted and used. One day if absent.
             * @example 86400
             */
            expires_in_seconds?: number;
        };
        /**
         * CreatePolicy
         * @description For a user-controlled wallet the PIN is required, by which the user grants the policy; a developer secret is optional, and is checked. For a developer-controlled wallet only the developer secret is required.
         * @example {
         *       "network": "Ethereum",
         *       "name": "Mint doors",
         *       "wallet_address": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "argument_rules": [
         *         {
         *           "argument": "to",
         *           "operator": "eq",
         *           "value": "0x5FbDB2315678afecb367f032d93F642f64180aa3"
         *         },
         *         {
         *           "argument": "decodedInput.function",
         *           "operator": "eq",
         *           "value": "safeMint(address,string)"
         *         }
         *       ],
         *       "expires_at": "2099-01-31T12:00:00Z",
         *       "max_uses": 100,
         *       "user_pin": "493817"
         *     }
         */
        CreatePolicy: {
            network: components["schemas"]["Network"];
            /**
             * @description A name for people.
             * @example Mint doors
             */
            name?: string;
            /**
             * @description A wallet of the project.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            wallet_address: string;
            /** @description All of them must match. */
            argument_rules: components["schemas"]["ArgumentRule"][];
            /**
             * @description When the policy ends; never if absent.
             * @example 2099-01-31T12:00:00Z
             */
            expires_at?: string;
            /**
             * @description The most of the native coin, in base units, that all uses together may send.
             * @example 1000000000000000
             */
            max_total_value?: string;
            /**
             * @description The most of the native coin, in base units, that the fees of all uses together may cost. If absent: the cost of 2,500 ordinary transactions (100,000 gas; a payment on Substrate networks) at the current fees.
             * @example 20000000000000000
             */
            max_total_fee?: string;
            /**
             * @description The most transactions; a batch counts as one.
             * @example 100
             */
            max_uses?: number;
            /** @description The most of a token that may be taken. Only on EVM networks. */
            token_limits?: components["schemas"]["TokenLimit"][];
            /** @description Limits like `max_total_value` and `max_uses` that apply to any time of a given length. */
            rolling_limits?: components["schemas"]["RollingLimit"][];
            require_approval?: components["schemas"]["RequireApproval"];
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
        };
        /** ShownTokenLimit */
        ShownTokenLimit: {
            /**
             * @description The contract of an ERC-20 token.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            contract_address: string;
            /**
             * @description In base units of the token.
             * @example 1000000
             */
            max_total: string;
            /** @description null: of all uses together. */
            per_seconds: number | null;
            /**
             * @description How much counts at present.
             * @example 0
             */
            spent: string;
        };
        /** ShownRollingLimit */
        ShownRollingLimit: {
            /**
             * @description In any time of so many seconds.
             * @example 86400
             */
            per_seconds: number;
            max_total_value: string | null;
            /** @description The most transactions in this time. */
            max_uses: number | null;
            /** @description null: not limited. */
            spent_value: string | null;
            /** @description How many count at present; null: not limited. */
            uses: number | null;
        };
        /** Policy */
        Policy: {
            /**
             * @description The id by which the policy is revoked.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            uuid: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            network: components["schemas"]["Network"];
            /**
             * @description A name for people.
             * @example Mint doors
             */
            name: string;
            /**
             * @description The wallet that the policy is for.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            wallet_address: string;
            /** @description All of them must match. */
            argument_rules: components["schemas"]["ArgumentRule"][];
            /** @description null: never. */
            expires_at: string | null;
            /** @description The most transactions; null: no limit. */
            max_uses?: number | null;
            /** @description null: no limit. */
            max_total_value?: string | null;
            /**
             * @description The most that the fees of all uses together may cost. In base units of the native coin.
             * @example 20000000000000000
             */
            max_total_fee?: string;
            /** @description Empty: no limit. */
            token_limits?: components["schemas"]["ShownTokenLimit"][];
            /** @description Empty: no limit. */
            rolling_limits?: components["schemas"]["ShownRollingLimit"][];
            /** @description Who must approve each use; null: nobody. */
            require_approval?: {
                /**
                 * @description How many different users must approve each use.
                 * @example 2
                 */
                of: number;
                /**
                 * @description Who may approve.
                 * @example [
                 *       "3b1f0c6e-8d2a-4f57-9c41-6e0d7a5b2c18"
                 *     ]
                 */
                from: string[];
                /**
                 * @description How long after the request the approval can be granted and used. One day if absent.
                 * @example 86400
                 */
                expires_in_seconds: number;
                /** @description The passkeys that count. Compare them with those of the approvers. */
                passkeys?: {
                    /**
                     * @description The approver.
                     * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
                     */
                    user_id: string;
                    /**
                     * @description The credential's id in base64url.
                     * @example cGFzc2tleSBvZiBBbGljZQ
                     */
                    credential_id: string;
                    /**
                     * @description The key by which the approver is known, in base64url: SubjectPublicKeyInfo, as `getPublicKey()` gives it in a browser.
                     * @example MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
                     */
                    public_key: string;
                }[];
            } | null;
            /** @description How often it was used. */
            uses?: number;
            /**
             * @description What all uses together have sent. In base units of the native coin.
             * @example 20000000000000000
             */
            spent_value?: string;
            /**
             * @description The most that the fees of all uses together can have cost. In base units of the native coin.
             * @example 20000000000000000
             */
            spent_fee?: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            updated_at: string;
        };
        /**
         * ProposedPolicy
         * @description A proposed policy: the fields of CreatePolicy without credentials.
         * @example {
         *       "network": "Ethereum",
         *       "name": "Mint doors",
         *       "wallet_address": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "argument_rules": [
         *         {
         *           "argument": "to",
         *           "operator": "eq",
         *           "value": "0x5FbDB2315678afecb367f032d93F642f64180aa3"
         *         },
         *         {
         *           "argument": "decodedInput.function",
         *           "operator": "eq",
         *           "value": "safeMint(address,string)"
         *         }
         *       ],
         *       "expires_at": "2099-01-31T12:00:00Z",
         *       "max_uses": 100
         *     }
         */
        ProposedPolicy: {
            network: components["schemas"]["Network"];
            /**
             * @description A name for people.
             * @example Mint doors
             */
            name?: string;
            /**
             * @description A wallet of the project.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            wallet_address: string;
            /** @description All of them must match. */
            argument_rules: components["schemas"]["ArgumentRule"][];
            /**
             * @description When the policy ends; never if absent.
             * @example 2099-01-31T12:00:00Z
             */
            expires_at?: string;
            /**
             * @description The most of the native coin, in base units, that all uses together may send.
             * @example 1000000000000000
             */
            max_total_value?: string;
            /**
             * @description The most of the native coin, in base units, that the fees of all uses together may cost. If absent: the cost of 2,500 ordinary transactions (100,000 gas; a payment on Substrate networks) at the current fees.
             * @example 20000000000000000
             */
            max_total_fee?: string;
            /**
             * @description The most transactions; a batch counts as one.
             * @example 100
             */
            max_uses?: number;
            /** @description The most of a token that may be taken. Only on EVM networks. */
            token_limits?: components["schemas"]["TokenLimit"][];
            /** @description Limits like `max_total_value` and `max_uses` that apply to any time of a given length. */
            rolling_limits?: components["schemas"]["RollingLimit"][];
            require_approval?: components["schemas"]["RequireApproval"];
        };
        /**
         * PolicyWords
         * @description A policy in English, for the owner of the wallet.
         */
        PolicyWords: {
            name: {
                /**
                 * @description `text`: our own words. `name`: a text of others, cut and cleaned. `code`: an exact address or value. `time`: an instant, RFC 3339.
                 * @example text
                 * @enum {string}
                 */
                kind: "text" | "name" | "code" | "time";
                /**
                 * @description To be shown as text, never as markup.
                 * @example At most 100 times.
                 */
                text: string;
            };
            /**
             * @description Which wallet.
             * @example [
             *       {
             *         "kind": "text",
             *         "text": "At most 100 times."
             *       }
             *     ]
             */
            wallet: {
                /**
                 * @description `text`: our own words. `name`: a text of others, cut and cleaned. `code`: an exact address or value. `time`: an instant, RFC 3339.
                 * @example text
                 * @enum {string}
                 */
                kind: "text" | "name" | "code" | "time";
                /**
                 * @description To be shown as text, never as markup.
                 * @example At most 100 times.
                 */
                text: string;
            }[];
            /** @description What the developer may do: the kind of transaction, then each rule. */
            may: {
                /**
                 * @description `text`: our own words. `name`: a text of others, cut and cleaned. `code`: an exact address or value. `time`: an instant, RFC 3339.
                 * @example text
                 * @enum {string}
                 */
                kind: "text" | "name" | "code" | "time";
                /**
                 * @description To be shown as text, never as markup.
                 * @example At most 100 times.
                 */
                text: string;
            }[][];
            /** @description How often, until when, and the limits on value and fees. */
            limits: {
                /**
                 * @description `text`: our own words. `name`: a text of others, cut and cleaned. `code`: an exact address or value. `time`: an instant, RFC 3339.
                 * @example text
                 * @enum {string}
                 */
                kind: "text" | "name" | "code" | "time";
                /**
                 * @description To be shown as text, never as markup.
                 * @example At most 100 times.
                 */
                text: string;
            }[][];
            /**
             * @description The most that it can cost the owner in all.
             * @example [
             *       {
             *         "kind": "text",
             *         "text": "At most 100 times."
             *       }
             *     ]
             */
            cost: {
                /**
                 * @description `text`: our own words. `name`: a text of others, cut and cleaned. `code`: an exact address or value. `time`: an instant, RFC 3339.
                 * @example text
                 * @enum {string}
                 */
                kind: "text" | "name" | "code" | "time";
                /**
                 * @description To be shown as text, never as markup.
                 * @example At most 100 times.
                 */
                text: string;
            }[];
            /** @description What is dangerous about it; empty if nothing is. */
            warnings: {
                /**
                 * @description `text`: our own words. `name`: a text of others, cut and cleaned. `code`: an exact address or value. `time`: an instant, RFC 3339.
                 * @example text
                 * @enum {string}
                 */
                kind: "text" | "name" | "code" | "time";
                /**
                 * @description To be shown as text, never as markup.
                 * @example At most 100 times.
                 */
                text: string;
            }[][];
            /** @description What was done by it; empty before it is made. */
            used: {
                /**
                 * @description `text`: our own words. `name`: a text of others, cut and cleaned. `code`: an exact address or value. `time`: an instant, RFC 3339.
                 * @example text
                 * @enum {string}
                 */
                kind: "text" | "name" | "code" | "time";
                /**
                 * @description To be shown as text, never as markup.
                 * @example At most 100 times.
                 */
                text: string;
            }[][];
        };
        /** DescribedProposal */
        DescribedProposal: {
            policy: components["schemas"]["ProposedPolicy"];
            /** @description The passkeys that count. Compare them with those of the approvers. */
            approver_passkeys?: {
                /**
                 * @description The approver.
                 * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
                 */
                user_id: string;
                /**
                 * @description The credential's id in base64url.
                 * @example cGFzc2tleSBvZiBBbGljZQ
                 */
                credential_id: string;
                /**
                 * @description The key by which the approver is known, in base64url: SubjectPublicKeyInfo, as `getPublicKey()` gives it in a browser.
                 * @example MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
                 */
                public_key: string;
            }[];
            words: components["schemas"]["PolicyWords"];
        };
        /** DescribedPolicy */
        DescribedPolicy: {
            policy: components["schemas"]["Policy"];
            words: components["schemas"]["PolicyWords"];
        };
        /**
         * RevokePolicy
         * @description Needs the wallet's `user_pin` or the project's `developer_secret`: either side may revoke it.
         * @example {
         *       "uuid": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "user_pin": "493817"
         *     }
         */
        RevokePolicy: {
            /**
             * @description The policy.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            uuid: string;
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
        };
        /**
         * ApprovalWords
         * @description The request in English, for its approvers.
         */
        ApprovalWords: {
            /**
             * @description What is asked for.
             * @example [
             *       {
             *         "kind": "text",
             *         "text": "At most 100 times."
             *       }
             *     ]
             */
            wants: {
                /**
                 * @description `text`: our own words. `name`: a text of others, cut and cleaned. `code`: an exact address or value. `time`: an instant, RFC 3339.
                 * @example text
                 * @enum {string}
                 */
                kind: "text" | "name" | "code" | "time";
                /**
                 * @description To be shown as text, never as markup.
                 * @example At most 100 times.
                 */
                text: string;
            }[];
            /** @description Each call in its order. */
            calls: {
                /**
                 * @description `text`: our own words. `name`: a text of others, cut and cleaned. `code`: an exact address or value. `time`: an instant, RFC 3339.
                 * @example text
                 * @enum {string}
                 */
                kind: "text" | "name" | "code" | "time";
                /**
                 * @description To be shown as text, never as markup.
                 * @example At most 100 times.
                 */
                text: string;
            }[][][];
            /** @description What is unclear about it, or would fail now. */
            warnings: {
                /**
                 * @description `text`: our own words. `name`: a text of others, cut and cleaned. `code`: an exact address or value. `time`: an instant, RFC 3339.
                 * @example text
                 * @enum {string}
                 */
                kind: "text" | "name" | "code" | "time";
                /**
                 * @description To be shown as text, never as markup.
                 * @example At most 100 times.
                 */
                text: string;
            }[][];
        };
        /** Approval */
        Approval: {
            /**
             * @description Names it.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id: string;
            /**
             * @description `waiting` → `granted` → `used`; or `rejected`, or `expired`.
             * @example waiting
             * @enum {string}
             */
            status: "waiting" | "granted" | "rejected" | "expired" | "used";
            /**
             * Format: date-time
             * @description ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description It must be used before this time.
             * @example 2026-01-31T12:00:00.000Z
             */
            expires_at: string;
            /**
             * @description The policy that needs it.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            policy_uuid: string;
            network: components["schemas"]["Network"];
            /**
             * @description The wallet that would be used.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            wallet_address: string;
            /**
             * @description What would be done: `sign`, `sign-typed-data`, `send`, `batch`, `mint`, `transfer`, `collection`, `token`, `token_mint`, `token_transfer` or `speed-up`.
             * @example send
             */
            action: string;
            /** @description The transaction that a speed-up signs again; null for other actions. */
            transaction_id: string | null;
            /** @description Its nonce; null for other actions. */
            signer_nonce: string | null;
            /** @description The calls in their order; empty for typed data. Absent fields are chosen when the approval is used. */
            unsigned_transactions: components["schemas"]["UnsignedTransaction"][];
            /** @description What each would do now, decoded and simulated; null once it has ended, while no node answers, and for typed data. */
            previews: components["schemas"]["PreviewResult"][] | null;
            /** @description The typed data that would be signed; null for transactions. */
            typed_data: components["schemas"]["TypedData"] | null;
            /** @description What it does; null once the approval has ended, while no node answers, and for transactions. */
            typed_data_preview: components["schemas"]["TypedDataPreview"] | null;
            words: components["schemas"]["ApprovalWords"];
            /**
             * @description How many must approve.
             * @example 2
             */
            required: number;
            /** @description What was decided, oldest first. */
            decisions: {
                /**
                 * @description The approver.
                 * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
                 */
                user_id: string;
                /**
                 * @description One rejection ends an approval, even a granted one, if it was not used yet.
                 * @example approve
                 * @enum {string}
                 */
                decision: "approve" | "reject";
                /**
                 * Format: date-time
                 * @description ISO 8601, UTC.
                 * @example 2026-01-31T12:00:00.000Z
                 */
                decided_at: string;
            }[];
        };
        /**
         * BeginDecision
         * @example {
         *       "approval_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "decision": "approve"
         *     }
         */
        BeginDecision: {
            /**
             * @description The `approval_id` of the 202 answer.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id: string;
            /**
             * @description One rejection ends an approval, even a granted one, if it was not used yet.
             * @example approve
             * @enum {string}
             */
            decision: "approve" | "reject";
        };
        /** ApprovalRequestOptions */
        ApprovalRequestOptions: {
            /** @description PublicKeyCredentialRequestOptionsJSON (WebAuthn). */
            publicKey: {
                /**
                 * @description SHA-256 over the canonical JSON of the approval, its request, its end and the decision.
                 * @example q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA
                 */
                challenge: string;
                /**
                 * @description Milliseconds.
                 * @example 300000
                 */
                timeout: number;
                /**
                 * @description The domain of the passkeys.
                 * @example example.com
                 */
                rpId: string;
                /** @description The user's passkeys that the policy names. */
                allowCredentials: {
                    /** @constant */
                    type: "public-key";
                    /**
                     * @description The credential's id in base64url.
                     * @example cGFzc2tleSBvZiBBbGljZQ
                     */
                    id: string;
                }[];
                /** @constant */
                userVerification: "required";
            };
        };
        /** AuthenticationResponseJSON */
        AuthenticationResponseJSON: {
            /** @description The credential's id. */
            id: string;
            /** @description The credential's id. */
            rawId?: string;
            /**
             * @description The only type.
             * @constant
             */
            type: "public-key";
            response: {
                /** @description The client data that the passkey signed. */
                clientDataJSON: string;
                /** @description The authenticator data that the passkey signed. */
                authenticatorData: string;
                /** @description The signature by the credential's key. */
                signature: string;
                /** @description The credential's user. */
                userHandle?: string;
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        /**
         * DecideApproval
         * @example {
         *       "approval_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "decision": "approve",
         *       "passkey_credential_assertion_response": {
         *         "id": "cGFzc2tleSBvZiBBbGljZQ",
         *         "type": "public-key",
         *         "response": {
         *           "clientDataJSON": "eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0",
         *           "authenticatorData": "oA",
         *           "signature": "MEU"
         *         }
         *       }
         *     }
         */
        DecideApproval: {
            /**
             * @description The `approval_id` of the 202 answer.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id: string;
            /**
             * @description One rejection ends an approval, even a granted one, if it was not used yet.
             * @example approve
             * @enum {string}
             */
            decision: "approve" | "reject";
            passkey_credential_assertion_response: components["schemas"]["AuthenticationResponseJSON"];
        };
        /**
         * DecidedApproval
         * @example {
         *       "approval_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "decision": "approve"
         *     }
         */
        DecidedApproval: {
            /**
             * @description Names it.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id: string;
            /**
             * @description One rejection ends an approval, even a granted one, if it was not used yet.
             * @example approve
             * @enum {string}
             */
            decision: "approve" | "reject";
        };
        /** Webhook */
        Webhook: {
            /**
             * @description The webhook's id.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            id: string;
            /**
             * @description Where events are posted: `https`, on the public Internet. Redirects are not followed. An operator can allow further addresses.
             * @example https://example.com/hooks
             */
            url: string;
            /**
             * @description Only events of these types; empty: all.
             * @example [
             *       "transaction.updated"
             *     ]
             */
            types: ("transaction.updated" | "activity.created" | "activity.removed" | "wallet.created" | "user.created" | "policy.created" | "policy.revoked" | "approval.requested" | "approval.decided" | "approval.expired" | "credential.locked" | "credential.added" | "credential.removed" | "project.changed" | "security.refused")[];
            /**
             * @description Who gets a mail when the service disables the webhook, because it took nothing for three days or answered 410.
             * @example ops@example.com
             */
            email: string | null;
            /**
             * @description `wallet`, the default: an event waits until the earlier ones of the same wallet are taken. `none`: no event waits for another one, so those of a busy wallet come faster, and in any order.
             * @example wallet
             * @enum {string}
             */
            order: "wallet" | "none";
            /**
             * @description Whether events are sent to it.
             * @example enabled
             * @enum {string}
             */
            state: "enabled" | "disabled";
            /** @description Since when it is disabled. */
            disabled_at: string | null;
            /** @description Why it is disabled. */
            disabled_why: string | null;
            /** @description Until when nothing but tests is sent to it, because its receiver asked for that (`Retry-After`). */
            paused_until: string | null;
            /**
             * @description Deliveries that wait, counted up to 10,000.
             * @example 0
             */
            waiting: number;
            /** @description Of the oldest of them. */
            waiting_since: string | null;
            /** @description When it last took a message, to some seconds. */
            last_success_at: string | null;
            /** @description When a request last failed. */
            last_failure_at: string | null;
            /** @description Why the last request was not taken. */
            last_failure: ("address_not_allowed" | "name_not_found" | "connection_failed" | "certificate_refused" | "timed_out" | "redirected" | "status") | null;
            /**
             * Format: date-time
             * @description When it was created.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
        };
        /**
         * CreateWebhook
         * @example {
         *       "url": "https://example.com/hooks",
         *       "types": [
         *         "transaction.updated"
         *       ],
         *       "email": "ops@example.com",
         *       "order": "wallet"
         *     }
         */
        CreateWebhook: {
            /**
             * @description Where events are posted: `https`, on the public Internet. Redirects are not followed. An operator can allow further addresses.
             * @example https://example.com/hooks
             */
            url: string;
            /**
             * @description Only events of these types; empty: all.
             * @example [
             *       "transaction.updated"
             *     ]
             */
            types?: ("transaction.updated" | "activity.created" | "activity.removed" | "wallet.created" | "user.created" | "policy.created" | "policy.revoked" | "approval.requested" | "approval.decided" | "approval.expired" | "credential.locked" | "credential.added" | "credential.removed" | "project.changed" | "security.refused")[];
            /**
             * @description Who gets a mail when the service disables the webhook, because it took nothing for three days or answered 410.
             * @example ops@example.com
             */
            email?: string | null;
            /**
             * @description `wallet`, the default: an event waits until the earlier ones of the same wallet are taken. `none`: no event waits for another one, so those of a busy wallet come faster, and in any order.
             * @example wallet
             * @enum {string}
             */
            order?: "wallet" | "none";
        };
        /**
         * CreatedWebhook
         * @example {
         *       "id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "url": "https://example.com/hooks",
         *       "types": [
         *         "transaction.updated"
         *       ],
         *       "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
         *     }
         */
        CreatedWebhook: {
            /**
             * @description The webhook's id.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            id: string;
            /**
             * @description Where events are posted: `https`, on the public Internet. Redirects are not followed. An operator can allow further addresses.
             * @example https://example.com/hooks
             */
            url: string;
            /**
             * @description Only events of these types; empty: all.
             * @example [
             *       "transaction.updated"
             *     ]
             */
            types: ("transaction.updated" | "activity.created" | "activity.removed" | "wallet.created" | "user.created" | "policy.created" | "policy.revoked" | "approval.requested" | "approval.decided" | "approval.expired" | "credential.locked" | "credential.added" | "credential.removed" | "project.changed" | "security.refused")[];
            /**
             * @description Verifies the signatures (Standard Webhooks). It is not shown again.
             * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
             */
            secret: string;
        };
        /**
         * UpdateWebhook
         * @example {
         *       "webhook_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "enabled": true
         *     }
         */
        UpdateWebhook: {
            /**
             * @description The webhook.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            webhook_id: string;
            /**
             * @description Where events are posted: `https`, on the public Internet. Redirects are not followed. An operator can allow further addresses.
             * @example https://example.com/hooks
             */
            url?: string;
            /**
             * @description Only events of these types; empty: all.
             * @example [
             *       "transaction.updated"
             *     ]
             */
            types?: ("transaction.updated" | "activity.created" | "activity.removed" | "wallet.created" | "user.created" | "policy.created" | "policy.revoked" | "approval.requested" | "approval.decided" | "approval.expired" | "credential.locked" | "credential.added" | "credential.removed" | "project.changed" | "security.refused")[];
            /**
             * @description Who gets a mail when the service disables the webhook, because it took nothing for three days or answered 410.
             * @example ops@example.com
             */
            email?: string | null;
            /**
             * @description `wallet`, the default: an event waits until the earlier ones of the same wallet are taken. `none`: no event waits for another one, so those of a busy wallet come faster, and in any order.
             * @example wallet
             * @enum {string}
             */
            order?: "wallet" | "none";
            /** @description Whether events are sent to it. Enabled again, it first gets what it missed. */
            enabled?: boolean;
        };
        /**
         * NamedWebhook
         * @example {
         *       "webhook_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f"
         *     }
         */
        NamedWebhook: {
            /**
             * @description The webhook.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            webhook_id: string;
        };
        /**
         * RotateWebhookSecret
         * @example {
         *       "webhook_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "overlap_seconds": 86400
         *     }
         */
        RotateWebhookSecret: {
            /**
             * @description The webhook.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            webhook_id: string;
            /**
             * @description How long the secret before signs too: 86400, a day, by default.
             * @example 86400
             */
            overlap_seconds?: number;
        };
        /**
         * RotatedWebhookSecret
         * @example {
         *       "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
         *     }
         */
        RotatedWebhookSecret: {
            /**
             * @description Verifies the signatures (Standard Webhooks). It is not shown again.
             * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
             */
            secret: string;
        };
        /**
         * TestedWebhook
         * @example {
         *       "delivery_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f"
         *     }
         */
        TestedWebhook: {
            /**
             * @description Of the test message, whose type is `webhook.test`.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            delivery_id: string;
        };
        /**
         * ReplayWebhook
         * @description With neither `delivery_id` nor `after`: what was not taken within three days.
         * @example {
         *       "webhook_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "after": "42"
         *     }
         */
        ReplayWebhook: {
            /**
             * @description The webhook.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            webhook_id: string;
            /**
             * @description This delivery alone.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            delivery_id?: string;
            /**
             * @description All events after the one with this id, at most 10,000.
             * @example 42
             */
            after?: string;
        };
        /**
         * ReplayedWebhook
         * @example {
         *       "deliveries": 3
         *     }
         */
        ReplayedWebhook: {
            /**
             * @description How many are sent again.
             * @example 3
             */
            deliveries: number;
        };
        /** WebhookDelivery */
        WebhookDelivery: {
            /**
             * @description Names it.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            delivery_id: string;
            /** @description The event; null for a test. */
            event_id: string | null;
            /**
             * @description `failed`: it was not taken within three days.
             * @example delivered
             * @enum {string}
             */
            state: "waiting" | "delivered" | "failed";
            /**
             * @description How often it was sent.
             * @example 1
             */
            attempts: number;
            /**
             * Format: date-time
             * @description When it began to wait.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /** @description When it is sent next, at the earliest; null if it has ended, and while an earlier one of the same wallet waits. */
            next_at: string | null;
            /** @description When it was delivered, or given up. */
            ended_at: string | null;
            /** @description The last answer's status. */
            status: number | null;
            /** @description Why the last request was not taken. */
            failure: ("address_not_allowed" | "name_not_found" | "connection_failed" | "certificate_refused" | "timed_out" | "redirected" | "status") | null;
            /** @description The beginning of the last answer, if it refused. */
            excerpt: string | null;
        };
        /**
         * WalletActivityItem
         * @description `token` of an NFT is its collection.
         */
        WalletActivityItem: {
            /**
             * @description Of this item.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            uuid: string;
            network: components["schemas"]["Network"];
            /**
             * @description What happened, from the point of view of the wallet.
             * @example receive_token
             */
            type: "receive_token" | "send_token" | "receive_nft" | "send_nft";
            /**
             * Format: date-time
             * @description The block's time: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            timestamp: string;
            /**
             * @description The wallet that was asked for.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            wallet_address: string;
            /**
             * @description The transaction that did it; on Substrate networks the block if the runtime did it by itself.
             * @example 0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b
             */
            transaction_hash: string;
            /**
             * @description Who had it before; the zero address for a mint. An event of a token can name any address: `initiated_by` says who caused it.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            from?: string;
            /**
             * @description Who has it now; the zero address for a burn.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            to?: string;
            /**
             * @description Who sent the transaction, and so caused this; if a contract wallet acts, the account that paid for the gas. Absent if the chain did it by itself, or it is not known.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            initiated_by?: string;
            metadata: {
                /**
                 * @description How much moved, without a sign, in whole coins.
                 * @example 1.5
                 */
                amount: string;
                /**
                 * @description Which token; of NFTs only.
                 * @example 1
                 */
                token_id?: string;
            };
            token: components["schemas"]["Token"];
        };
        /**
         * TransactionUpdatedEvent
         * @description A transaction was recorded, or its status has changed. `data` is as status-by-id answers.
         * @example {
         *       "id": "42",
         *       "type": "transaction.updated",
         *       "version": 1,
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "project_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "data": {
         *         "transaction_id": "0a3f9c31-6a0e-4d8c-b6f2-743b06c0a4c2",
         *         "transaction_hash": "0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b",
         *         "network": "Ethereum",
         *         "status": "success",
         *         "contract_address": null
         *       }
         *     }
         */
        TransactionUpdatedEvent: {
            /**
             * @description Its number among the project's events: consecutive, from 1.
             * @example 42
             */
            id: string;
            /**
             * @example transaction.updated
             * @constant
             */
            type: "transaction.updated";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was caused: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["TransactionStatusById"];
        };
        /**
         * ActivityCreatedEvent
         * @description A coin, a token or an NFT came into a wallet or went out. `data` is as the list of activity has it. If the contract could not be read yet, its token has no name, and `decimals_unknown` is true.
         */
        ActivityCreatedEvent: {
            /**
             * @description Its number among the project's events: consecutive, from 1.
             * @example 42
             */
            id: string;
            /**
             * @example activity.created
             * @constant
             */
            type: "activity.created";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was caused: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["WalletActivityItem"];
        };
        /**
         * ActivityRemovedEventData
         * @example {
         *       "uuid": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "network": "Ethereum",
         *       "wallet_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "transaction_hash": "0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b"
         *     }
         */
        ActivityRemovedEventData: {
            /**
             * @description Of the item of the activity.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            uuid: string;
            network: components["schemas"]["Network"];
            /**
             * @description The wallet.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            wallet_address: string;
            /**
             * @description Its hash on the network.
             * @example 0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b
             */
            transaction_hash: string;
        };
        /**
         * ActivityRemovedEvent
         * @description A reorganisation removed the block of an item of the activity. It may come again in another block.
         * @example {
         *       "id": "42",
         *       "type": "activity.removed",
         *       "version": 1,
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "project_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "data": {
         *         "uuid": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *         "network": "Ethereum",
         *         "wallet_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *         "transaction_hash": "0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b"
         *       }
         *     }
         */
        ActivityRemovedEvent: {
            /**
             * @description Its number among the project's events: consecutive, from 1.
             * @example 42
             */
            id: string;
            /**
             * @example activity.removed
             * @constant
             */
            type: "activity.removed";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was caused: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["ActivityRemovedEventData"];
        };
        /**
         * WalletCreatedEventData
         * @example {
         *       "id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "network": "Ethereum",
         *       "owner_id": "user-1",
         *       "address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "control_mode": "user",
         *       "type": "eoa"
         *     }
         */
        WalletCreatedEventData: {
            /**
             * @description The wallet's id.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            id: string;
            network: components["schemas"]["Network"];
            /**
             * @description Your id of the owner; the id of a user who is logged in.
             * @example user-1
             */
            owner_id: string;
            /**
             * @description The wallet's address on the network.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            address: string;
            /**
             * @description Who controls it.
             * @example user
             * @enum {string}
             */
            control_mode: "developer" | "user";
            /**
             * @description The kind of its address.
             * @example eoa
             * @enum {string}
             */
            type: "eoa" | "contract";
        };
        /**
         * WalletCreatedEvent
         * @description A wallet was created or imported.
         * @example {
         *       "id": "42",
         *       "type": "wallet.created",
         *       "version": 1,
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "project_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "data": {
         *         "id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *         "network": "Ethereum",
         *         "owner_id": "user-1",
         *         "address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *         "control_mode": "user",
         *         "type": "eoa"
         *       }
         *     }
         */
        WalletCreatedEvent: {
            /**
             * @description Its number among the project's events: consecutive, from 1.
             * @example 42
             */
            id: string;
            /**
             * @example wallet.created
             * @constant
             */
            type: "wallet.created";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was caused: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["WalletCreatedEventData"];
        };
        /**
         * UserCreatedEventData
         * @example {
         *       "user_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f"
         *     }
         */
        UserCreatedEventData: {
            /**
             * @description The user.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            user_id: string;
        };
        /**
         * UserCreatedEvent
         * @description Somebody logged in for the first time.
         * @example {
         *       "id": "42",
         *       "type": "user.created",
         *       "version": 1,
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "project_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "data": {
         *         "user_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f"
         *       }
         *     }
         */
        UserCreatedEvent: {
            /**
             * @description Its number among the project's events: consecutive, from 1.
             * @example 42
             */
            id: string;
            /**
             * @example user.created
             * @constant
             */
            type: "user.created";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was caused: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["UserCreatedEventData"];
        };
        /**
         * PolicyCreatedEventData
         * @example {
         *       "policy_uuid": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "network": "Ethereum",
         *       "wallet_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
         *     }
         */
        PolicyCreatedEventData: {
            /**
             * @description The policy.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            policy_uuid: string;
            network: components["schemas"]["Network"];
            /**
             * @description The wallet.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            wallet_address: string;
        };
        /**
         * PolicyCreatedEvent
         * @description The owner of a wallet agreed to a policy.
         * @example {
         *       "id": "42",
         *       "type": "policy.created",
         *       "version": 1,
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "project_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "data": {
         *         "policy_uuid": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *         "network": "Ethereum",
         *         "wallet_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
         *       }
         *     }
         */
        PolicyCreatedEvent: {
            /**
             * @description Its number among the project's events: consecutive, from 1.
             * @example 42
             */
            id: string;
            /**
             * @example policy.created
             * @constant
             */
            type: "policy.created";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was caused: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["PolicyCreatedEventData"];
        };
        /**
         * PolicyRevokedEventData
         * @example {
         *       "policy_uuid": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "network": "Ethereum",
         *       "wallet_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
         *     }
         */
        PolicyRevokedEventData: {
            /**
             * @description The policy.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            policy_uuid: string;
            network: components["schemas"]["Network"];
            /**
             * @description The wallet.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            wallet_address: string;
        };
        /**
         * PolicyRevokedEvent
         * @description A policy was revoked.
         * @example {
         *       "id": "42",
         *       "type": "policy.revoked",
         *       "version": 1,
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "project_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "data": {
         *         "policy_uuid": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *         "network": "Ethereum",
         *         "wallet_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
         *       }
         *     }
         */
        PolicyRevokedEvent: {
            /**
             * @description Its number among the project's events: consecutive, from 1.
             * @example 42
             */
            id: string;
            /**
             * @example policy.revoked
             * @constant
             */
            type: "policy.revoked";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was caused: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["PolicyRevokedEventData"];
        };
        /**
         * ApprovalRequestedEventData
         * @example {
         *       "approval_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "policy_uuid": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "network": "Ethereum",
         *       "wallet_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "required": 2,
         *       "expires_at": "2026-01-31T12:00:00.000Z"
         *     }
         */
        ApprovalRequestedEventData: {
            /**
             * @description The approval.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id: string;
            /**
             * @description The policy.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            policy_uuid: string;
            network: components["schemas"]["Network"];
            /**
             * @description The wallet.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            wallet_address: string;
            /**
             * @description How many must approve.
             * @example 2
             */
            required: number;
            /**
             * Format: date-time
             * @description It must be used before this time.
             * @example 2026-01-31T12:00:00.000Z
             */
            expires_at: string;
        };
        /**
         * ApprovalRequestedEvent
         * @description A use of a policy waits for its approvers.
         * @example {
         *       "id": "42",
         *       "type": "approval.requested",
         *       "version": 1,
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "project_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "data": {
         *         "approval_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *         "policy_uuid": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *         "network": "Ethereum",
         *         "wallet_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *         "required": 2,
         *         "expires_at": "2026-01-31T12:00:00.000Z"
         *       }
         *     }
         */
        ApprovalRequestedEvent: {
            /**
             * @description Its number among the project's events: consecutive, from 1.
             * @example 42
             */
            id: string;
            /**
             * @example approval.requested
             * @constant
             */
            type: "approval.requested";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was caused: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["ApprovalRequestedEventData"];
        };
        /**
         * ApprovalDecidedEventData
         * @example {
         *       "approval_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "policy_uuid": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "network": "Ethereum",
         *       "wallet_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "user_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "decision": "approve"
         *     }
         */
        ApprovalDecidedEventData: {
            /**
             * @description The approval.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id: string;
            /**
             * @description The policy.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            policy_uuid: string;
            network: components["schemas"]["Network"];
            /**
             * @description The wallet.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            wallet_address: string;
            /**
             * @description The approver.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            user_id: string;
            /**
             * @description What was decided.
             * @example approve
             * @enum {string}
             */
            decision: "approve" | "reject";
        };
        /**
         * ApprovalDecidedEvent
         * @description An approver approved or rejected.
         * @example {
         *       "id": "42",
         *       "type": "approval.decided",
         *       "version": 1,
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "project_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "data": {
         *         "approval_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *         "policy_uuid": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *         "network": "Ethereum",
         *         "wallet_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *         "user_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *         "decision": "approve"
         *       }
         *     }
         */
        ApprovalDecidedEvent: {
            /**
             * @description Its number among the project's events: consecutive, from 1.
             * @example 42
             */
            id: string;
            /**
             * @example approval.decided
             * @constant
             */
            type: "approval.decided";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was caused: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["ApprovalDecidedEventData"];
        };
        /**
         * ApprovalExpiredEventData
         * @example {
         *       "approval_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "policy_uuid": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "network": "Ethereum",
         *       "wallet_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
         *     }
         */
        ApprovalExpiredEventData: {
            /**
             * @description The approval.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id: string;
            /**
             * @description The policy.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            policy_uuid: string;
            network: components["schemas"]["Network"];
            /**
             * @description The wallet.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            wallet_address: string;
        };
        /**
         * ApprovalExpiredEvent
         * @description An approval was neither used nor rejected in its time. Written up to two minutes later.
         * @example {
         *       "id": "42",
         *       "type": "approval.expired",
         *       "version": 1,
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "project_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "data": {
         *         "approval_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *         "policy_uuid": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *         "network": "Ethereum",
         *         "wallet_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
         *       }
         *     }
         */
        ApprovalExpiredEvent: {
            /**
             * @description Its number among the project's events: consecutive, from 1.
             * @example 42
             */
            id: string;
            /**
             * @example approval.expired
             * @constant
             */
            type: "approval.expired";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was caused: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["ApprovalExpiredEventData"];
        };
        /**
         * CredentialLockedEventData
         * @example {
         *       "owner_id": "user-1",
         *       "locked_until": "2026-01-31T12:00:00.000Z"
         *     }
         */
        CredentialLockedEventData: {
            /**
             * @description Your id of the owner; the id of a user who is logged in.
             * @example user-1
             */
            owner_id: string;
            /**
             * Format: date-time
             * @description When a PIN is taken again.
             * @example 2026-01-31T12:00:00.000Z
             */
            locked_until: string;
        };
        /**
         * CredentialLockedEvent
         * @description After wrong PINs no PIN of an owner is taken for some time.
         * @example {
         *       "id": "42",
         *       "type": "credential.locked",
         *       "version": 1,
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "project_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "data": {
         *         "owner_id": "user-1",
         *         "locked_until": "2026-01-31T12:00:00.000Z"
         *       }
         *     }
         */
        CredentialLockedEvent: {
            /**
             * @description Its number among the project's events: consecutive, from 1.
             * @example 42
             */
            id: string;
            /**
             * @example credential.locked
             * @constant
             */
            type: "credential.locked";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was caused: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["CredentialLockedEventData"];
        };
        /**
         * CredentialAddedEventData
         * @example {
         *       "kind": "passkey",
         *       "owner_id": "user-1"
         *     }
         */
        CredentialAddedEventData: {
            /**
             * @description `passkey` and `email` log a user in; `recovery_code` and `passkey_secret` stand for the PIN.
             * @example passkey
             * @enum {string}
             */
            kind: "passkey" | "email" | "recovery_code" | "passkey_secret";
            /**
             * @description Your id of the owner; the id of a user who is logged in.
             * @example user-1
             */
            owner_id: string;
        };
        /**
         * CredentialAddedEvent
         * @description A further way to log in, or to open the wallets.
         * @example {
         *       "id": "42",
         *       "type": "credential.added",
         *       "version": 1,
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "project_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "data": {
         *         "kind": "passkey",
         *         "owner_id": "user-1"
         *       }
         *     }
         */
        CredentialAddedEvent: {
            /**
             * @description Its number among the project's events: consecutive, from 1.
             * @example 42
             */
            id: string;
            /**
             * @example credential.added
             * @constant
             */
            type: "credential.added";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was caused: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["CredentialAddedEventData"];
        };
        /**
         * CredentialRemovedEventData
         * @example {
         *       "kind": "passkey",
         *       "owner_id": "user-1"
         *     }
         */
        CredentialRemovedEventData: {
            /**
             * @description `passkey` and `email` log a user in; `recovery_code` and `passkey_secret` stand for the PIN.
             * @example passkey
             * @enum {string}
             */
            kind: "passkey" | "email" | "recovery_code" | "passkey_secret";
            /**
             * @description Your id of the owner; the id of a user who is logged in.
             * @example user-1
             */
            owner_id: string;
        };
        /**
         * CredentialRemovedEvent
         * @description Such a way was removed.
         * @example {
         *       "id": "42",
         *       "type": "credential.removed",
         *       "version": 1,
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "project_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "data": {
         *         "kind": "passkey",
         *         "owner_id": "user-1"
         *       }
         *     }
         */
        CredentialRemovedEvent: {
            /**
             * @description Its number among the project's events: consecutive, from 1.
             * @example 42
             */
            id: string;
            /**
             * @example credential.removed
             * @constant
             */
            type: "credential.removed";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was caused: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["CredentialRemovedEventData"];
        };
        /**
         * ProjectChangedEventData
         * @example {
         *       "setting": "allowed_origins"
         *     }
         */
        ProjectChangedEventData: {
            /**
             * @description What was changed.
             * @example allowed_origins
             * @enum {string}
             */
            setting: "allowed_origins" | "return_addresses" | "passkey_domain" | "anonymous_login" | "issuers";
        };
        /**
         * ProjectChangedEvent
         * @description An operator changed how users of the project log in.
         * @example {
         *       "id": "42",
         *       "type": "project.changed",
         *       "version": 1,
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "project_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "data": {
         *         "setting": "allowed_origins"
         *       }
         *     }
         */
        ProjectChangedEvent: {
            /**
             * @description Its number among the project's events: consecutive, from 1.
             * @example 42
             */
            id: string;
            /**
             * @example project.changed
             * @constant
             */
            type: "project.changed";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was caused: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["ProjectChangedEventData"];
        };
        /** SecurityRefusedEventData */
        SecurityRefusedEventData: {
            /**
             * @description What was refused.
             * @example wrong_pin
             * @enum {string}
             */
            kind: "wrong_pin" | "owner_locked" | "locked_owner_tried" | "guess_count_forged" | "policy_forged" | "wallet_forged" | "delegates_forged" | "write_undone" | "freezes_forged" | "wrong_pins_spent" | "wrong_user_secret" | "user_secret_forged" | "wrong_developer_secret" | "wrong_secrets_spent" | "catalogue_changed" | "bearer_malformed" | "api_key_unknown" | "access_token_forged" | "issuer_token_refused" | "session_mismatch" | "project_mismatch" | "login_failed" | "login_throttled" | "wrong_email_code" | "refresh_token_forged" | "refresh_token_reused" | "origin_refused" | "metrics_token_wrong" | "row_forged";
            /** @description The target: an owner, a session, an API key; "others" for all of a kind beyond the most frequent; null if it is unknown. */
            subject: string | null;
            /**
             * @description How many.
             * @example 3
             */
            count: number;
        };
        /**
         * SecurityRefusedEvent
         * @description Refusals that may be part of an attack. Those of half a minute are counted, and written together.
         */
        SecurityRefusedEvent: {
            /**
             * @description Its number among the project's events: consecutive, from 1.
             * @example 42
             */
            id: string;
            /**
             * @example security.refused
             * @constant
             */
            type: "security.refused";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was caused: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["SecurityRefusedEventData"];
        };
        /**
         * ProjectEvent
         * @description Something that happened in the project. `type` says what.
         */
        ProjectEvent: components["schemas"]["TransactionUpdatedEvent"] | components["schemas"]["ActivityCreatedEvent"] | components["schemas"]["ActivityRemovedEvent"] | components["schemas"]["WalletCreatedEvent"] | components["schemas"]["UserCreatedEvent"] | components["schemas"]["PolicyCreatedEvent"] | components["schemas"]["PolicyRevokedEvent"] | components["schemas"]["ApprovalRequestedEvent"] | components["schemas"]["ApprovalDecidedEvent"] | components["schemas"]["ApprovalExpiredEvent"] | components["schemas"]["CredentialLockedEvent"] | components["schemas"]["CredentialAddedEvent"] | components["schemas"]["CredentialRemovedEvent"] | components["schemas"]["ProjectChangedEvent"] | components["schemas"]["SecurityRefusedEvent"];
        /** EventList */
        EventList: {
            /** @description In the order of their ids. */
            events: components["schemas"]["ProjectEvent"][];
            /**
             * @description The next `after`, also if `events` is empty.
             * @example 42
             */
            next: string;
        };
        /** TokenBalance */
        TokenBalance: {
            /**
             * @description Derived from the network and the contract, so the same in every answer.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            uuid: string;
            network: components["schemas"]["Network"];
            /**
             * @description The token's contract. For an asset of a Substrate runtime its id: `asset:1984`, `pool:7` or `foreign:0x0201090704` (an XCM Location in SCALE). For a network's own coin a word: `ETH`, `MATIC`, `AVAX`, `DOT`, `VARA`.
             * @example ETH
             */
            contract_address: string;
            /**
             * @description The contract's name for itself; may be empty.
             * @example Ether
             */
            name: string;
            /**
             * @description The contract's symbol; may be empty.
             * @example ETH
             */
            symbol: string;
            /**
             * @description Decimals of the base unit; 0 for NFTs.
             * @example 18
             */
            decimals: number;
            /**
             * @description true if the contract does not say its decimals. Then `decimals` is 0, and amounts of the token are in base units. Absent otherwise.
             * @example true
             */
            decimals_unknown?: boolean;
            /**
             * @description How many decimals to display.
             * @example 6
             */
            display_decimals: number;
            /**
             * @description Empty if unknown.
             * @example
             */
            logo_url: string;
            /**
             * @description In base units.
             * @example 1500000000000000000
             */
            raw_balance: string;
            /**
             * @description In whole coins, exact.
             * @example 1.5
             */
            display_balance: string;
        };
        /**
         * CreateToken
         * @example {
         *       "network": "Ethereum",
         *       "name": "Points",
         *       "symbol": "PNT",
         *       "decimals": "18",
         *       "logo_url": "https://example.com/points.png",
         *       "initial_supply": "1000",
         *       "developer_secret": "testnet-secret"
         *     }
         */
        CreateToken: {
            network: components["schemas"]["Network"];
            /**
             * @description The sending wallet; by default the project's own wallet on the network.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            from?: string;
            /**
             * @description The token's name.
             * @example Points
             */
            name: string;
            /**
             * @description The token's symbol.
             * @example PNT
             */
            symbol: string;
            /**
             * @description The decimals of the base unit. They never change.
             * @example 18
             */
            decimals: string;
            /**
             * @description The URI of the token's logo. Only this project sees it. The server never fetches it.
             * @example ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi
             */
            logo_url?: string;
            /**
             * @description What the sender gets at first; nothing by default. Exact: at most as many decimal places as the token has.
             * @example 1.5
             */
            initial_supply?: string;
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description The `approval_id` of the 202 answer. Repeat the same request with it once it is granted.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id?: string;
            /**
             * @description Send it even if it is `repeat_refused`.
             * @example true
             */
            allow_repeat?: boolean;
        };
        /**
         * MintToken
         * @example {
         *       "network": "Ethereum",
         *       "contract_address": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
         *       "recipient": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "amount": "1.5",
         *       "developer_secret": "testnet-secret"
         *     }
         */
        MintToken: {
            network?: components["schemas"]["Network"];
            /**
             * @description The sending wallet; by default the project's own wallet on the network.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            from?: string;
            /**
             * @description The token's contract; on Substrate networks the id of an asset (`asset:1984`).
             * @example 0x5FbDB2315678afecb367f032d93F642f64180aa3
             */
            contract_address: string;
            /**
             * @description Who gets the tokens; by default the sender.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            recipient?: string;
            /**
             * @description How much to mint. Exact: at most as many decimal places as the token has.
             * @example 1.5
             */
            amount: string;
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description The `approval_id` of the 202 answer. Repeat the same request with it once it is granted.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id?: string;
            /**
             * @description Send it even if it is `repeat_refused`.
             * @example true
             */
            allow_repeat?: boolean;
        };
        /**
         * TransferToken
         * @example {
         *       "network": "Ethereum",
         *       "from": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "token": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
         *       "recipient": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "amount": "1.5",
         *       "developer_secret": "testnet-secret"
         *     }
         */
        TransferToken: {
            network?: components["schemas"]["Network"];
            /**
             * @description The wallet that has the tokens.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            from: string;
            /**
             * @description The token's `contract_address`: a contract, on Substrate networks the id of an asset (`asset:1984`), or the word of the network's coin.
             * @example ETH
             */
            token: string;
            /**
             * @description Who gets the tokens.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            recipient: string;
            /**
             * @description How much to transfer. Exact: at most as many decimal places as the token has.
             * @example 1.5
             */
            amount: string;
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description The `approval_id` of the 202 answer. Repeat the same request with it once it is granted.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id?: string;
            /**
             * @description Send it even if it is `repeat_refused`.
             * @example true
             */
            allow_repeat?: boolean;
        };
        /**
         * TokenTransfer
         * @example {
         *       "recipient": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *       "amount": "1.5"
         *     }
         */
        TokenTransfer: {
            /**
             * @description Who gets the tokens.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            recipient: string;
            /**
             * @description How much to transfer. Exact: at most as many decimal places as the token has.
             * @example 1.5
             */
            amount: string;
        };
        /**
         * BatchTransferToken
         * @example {
         *       "network": "Ethereum",
         *       "from": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *       "token": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
         *       "transfers": [
         *         {
         *           "recipient": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
         *           "amount": "1.5"
         *         },
         *         {
         *           "recipient": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
         *           "amount": "2"
         *         }
         *       ],
         *       "developer_secret": "testnet-secret"
         *     }
         */
        BatchTransferToken: {
            network?: components["schemas"]["Network"];
            /**
             * @description The wallet that has the tokens.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            from: string;
            /**
             * @description The token's `contract_address`: a contract, on Substrate networks the id of an asset (`asset:1984`), or the word of the network's coin.
             * @example ETH
             */
            token: string;
            transfers: components["schemas"]["TokenTransfer"][];
            /**
             * @description Proves control of developer-controlled wallets. On testnet: `testnet-secret`.
             * @example testnet-secret
             */
            developer_secret?: string;
            /**
             * @description Proves control of user-controlled wallets.
             * @example 493817
             */
            user_pin?: string;
            /**
             * @description Instead of `user_pin`: a recovery code, or the 32 bytes that a passkey computes (`prf`), in base64url.
             * @example 99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX
             */
            user_secret?: string;
            /**
             * @description The `approval_id` of the 202 answer. Repeat the same request with it once it is granted.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            approval_id?: string;
            /**
             * @description Send it even if it is `repeat_refused`.
             * @example true
             */
            allow_repeat?: boolean;
        };
        /** NameLookup */
        NameLookup: {
            /**
             * @description null if the name has no address on the chain itself; off-chain data (EIP-3668) is not fetched.
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            address: string | null;
        };
        /**
         * JwkSet
         * @description RFC 7517 §5; the keys are of RFC 8037.
         * @example {
         *       "keys": [
         *         {
         *           "kty": "OKP",
         *           "crv": "Ed25519",
         *           "alg": "EdDSA",
         *           "use": "sig",
         *           "kid": "0b5a9c1e-2f4d-4a6b-8c7d-9e0f1a2b3c4d",
         *           "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
         *         }
         *       ]
         *     }
         */
        JwkSet: {
            keys: {
                [key: string]: string;
            }[];
        };
        /**
         * VerifyLogin
         * @example {
         *       "user_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "verification_code": "493817"
         *     }
         */
        VerifyLogin: {
            /**
             * @description The user. Required with a verification code.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            user_id?: string;
            /**
             * @description The code that was mailed.
             * @example 493817
             */
            verification_code?: string;
            /** @description An EIP-4361 message, or the same message for a Substrate account. */
            siwe_message?: string;
            /** @description The wallet's signature over the message. */
            signature?: string;
            /**
             * @description The code of a session challenge; letter case, hyphens and spaces do not matter.
             * @example 7KQ2-M9XD-0HRT-5VWA-C3EZ-8NPB-4GJS
             */
            session_challenge_code?: string;
            /**
             * @description The secret whose SHA-256 was given when the session challenge was made.
             * @example dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk
             */
            code_verifier?: string;
            passkey_credential_assertion_response?: components["schemas"]["AuthenticationResponseJSON"];
        };
        /**
         * Session
         * @example {
         *       "id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "project_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "user_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "access_token": "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiI1ZjBjMmQxZSJ9.c2lnbmF0dXJl",
         *       "access_token_expires_at": "2026-01-31T12:00:00.000Z",
         *       "refresh_token": "AAAAAXVQ4Rk2bW9v0eXJ5c2VjcmV0d29yZGJ5ZXhhbXBsZSE",
         *       "refresh_token_expires_at": "2026-01-31T12:00:00.000Z"
         *     }
         */
        Session: {
            /**
             * @description The session's id.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            id: string;
            /**
             * @description When it began.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            /**
             * @description The user.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            user_id: string;
            /**
             * @description The bearer token: a JWT, signed with a key of /.well-known/jwks.json.
             * @example eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiI1ZjBjMmQxZSJ9.c2lnbmF0dXJl
             */
            access_token: string;
            /**
             * @description When the access token expires.
             * @example 2026-01-31T12:00:00.000Z
             */
            access_token_expires_at: string;
            /**
             * @description Valid for one exchange at refresh-token.
             * @example AAAAAXVQ4Rk2bW9v0eXJ5c2VjcmV0d29yZGJ5ZXhhbXBsZSE
             */
            refresh_token: string;
            /**
             * @description When the refresh token expires. Unless it is refreshed, the session ends then.
             * @example 2026-01-31T12:00:00.000Z
             */
            refresh_token_expires_at: string;
        };
        /**
         * RefreshToken
         * @example {
         *       "session_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "refresh_token": "AAAAAXVQ4Rk2bW9v0eXJ5c2VjcmV0d29yZGJ5ZXhhbXBsZSE"
         *     }
         */
        RefreshToken: {
            /**
             * @description The session.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            session_id: string;
            /** @description The newest refresh token of the session. */
            refresh_token: string;
        };
        /**
         * SignInWallet
         * @example {
         *       "sign_in_wallet": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
         *     }
         */
        SignInWallet: {
            /**
             * @description The address that will sign: an EVM address, or SS58 with any prefix. For a contract wallet on one chain: `eip155:CHAIN_ID:ADDRESS` (CAIP-10).
             * @example 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
             */
            sign_in_wallet: string;
        };
        /**
         * WalletChallenge
         * @example {
         *       "user_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "nonce": "9f2c4b1e7a6d5038c1b2a3948576e0fd"
         *     }
         */
        WalletChallenge: {
            /**
             * @description The user whose session the signature will begin.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            user_id: string;
            /**
             * @description The nonce of the message to sign. Valid for this wallet, once, for five minutes.
             * @example 9f2c4b1e7a6d5038c1b2a3948576e0fd
             */
            nonce: string;
        };
        /** PasskeyRequestOptions */
        PasskeyRequestOptions: {
            /** @description PublicKeyCredentialRequestOptionsJSON (WebAuthn). */
            publicKey: {
                /**
                 * @description Valid once, for five minutes.
                 * @example q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA
                 */
                challenge: string;
                /**
                 * @description Milliseconds.
                 * @example 300000
                 */
                timeout: number;
                /**
                 * @description The domain of the passkeys.
                 * @example example.com
                 */
                rpId: string;
                /**
                 * @description None: passkeys are discoverable.
                 * @example []
                 */
                allowCredentials: unknown[];
                /** @constant */
                userVerification: "required";
            };
        };
        /**
         * LoginWithPasskey
         * @example {
         *       "email": "alice@example.com"
         *     }
         */
        LoginWithPasskey: {
            /**
             * @description An e-mail address; letter case does not matter.
             * @example alice@example.com
             */
            email?: string;
            /** @description The wallet that the user logs in with. */
            sign_in_wallet?: string;
        };
        /** Passkey */
        Passkey: {
            /**
             * @description The passkey's id.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            id: string;
            /**
             * @description When the passkey was added.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description When it last began a session.
             * @example 2026-01-31T12:00:00.000Z
             */
            last_used_at: string | null;
            /**
             * @description The domain whose pages can use the passkey.
             * @example example.com
             */
            rp_id: string;
            /** @description Whether the passkey is backed up, for example synced to other devices. */
            backed_up: boolean;
            /**
             * @description How the authenticator is reached.
             * @example [
             *       "internal"
             *     ]
             */
            transports: string[];
        };
        /** PasskeyCreationOptions */
        PasskeyCreationOptions: {
            /** @description PublicKeyCredentialCreationOptionsJSON (WebAuthn). */
            publicKey: {
                /**
                 * @example {
                 *       "id": "example.com",
                 *       "name": "Doors"
                 *     }
                 */
                rp: {
                    id: string;
                    name: string;
                };
                /**
                 * @example {
                 *       "id": "XwwtHmo7TI2efwobLD1OXw",
                 *       "name": "alice@example.com",
                 *       "displayName": "alice"
                 *     }
                 */
                user: {
                    id: string;
                    name: string;
                    displayName: string;
                };
                /**
                 * @description Valid once, for five minutes.
                 * @example q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA
                 */
                challenge: string;
                pubKeyCredParams: {
                    /** @constant */
                    type: "public-key";
                    /** @example -7 */
                    alg: number;
                }[];
                /**
                 * @description Milliseconds.
                 * @example 300000
                 */
                timeout: number;
                excludeCredentials: {
                    /** @constant */
                    type: "public-key";
                    /**
                     * @description The credential's id in base64url.
                     * @example cGFzc2tleSBvZiBBbGljZQ
                     */
                    id: string;
                    /**
                     * @description How it is reached.
                     * @example [
                     *       "internal"
                     *     ]
                     */
                    transports: string[];
                }[];
                authenticatorSelection: {
                    /** @constant */
                    residentKey: "required";
                    /** @constant */
                    requireResidentKey: true;
                    /** @constant */
                    userVerification: "required";
                };
                /** @constant */
                attestation: "none";
            };
        };
        /**
         * RegistrationResponseJSON
         * @example {
         *       "id": "cGFzc2tleSBvZiBBbGljZQ",
         *       "rawId": "cGFzc2tleSBvZiBBbGljZQ",
         *       "type": "public-key",
         *       "response": {
         *         "clientDataJSON": "eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0",
         *         "attestationObject": "oA",
         *         "transports": [
         *           "internal"
         *         ]
         *       }
         *     }
         */
        RegistrationResponseJSON: {
            /** @description The credential's id. */
            id: string;
            /** @description The credential's id. */
            rawId?: string;
            /**
             * @description The only type.
             * @constant
             */
            type: "public-key";
            response: {
                /** @description The client data that the passkey signed. */
                clientDataJSON: string;
                /** @description The new credential. */
                attestationObject: string;
                /** @description How the authenticator is reached. */
                transports?: string[];
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        /** PasskeyAdded */
        PasskeyAdded: {
            /** @constant */
            success: true;
            /**
             * @description The id of the new passkey, as the list has it.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            id: string;
        };
        /**
         * PasskeyId
         * @example {
         *       "id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f"
         *     }
         */
        PasskeyId: {
            /**
             * @description The id from the list of passkeys.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            id: string;
        };
        /**
         * Email
         * @example {
         *       "email": "alice@example.com"
         *     }
         */
        Email: {
            /**
             * @description An e-mail address; letter case does not matter.
             * @example alice@example.com
             */
            email: string;
        };
        /**
         * VerifyEmail
         * @example {
         *       "verification_code": "493817"
         *     }
         */
        VerifyEmail: {
            /**
             * @description The code that was mailed.
             * @example 493817
             */
            verification_code: string;
        };
        /**
         * UserId
         * @example {
         *       "user_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f"
         *     }
         */
        UserId: {
            /**
             * @description The `user_id` to pass to verify-login.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            user_id: string;
        };
        /** CodeChallenge */
        CodeChallenge: {
            /**
             * @description The SHA-256 of a secret that the device makes and keeps, in base64url (RFC 7636). Then the code is worth nothing without the secret.
             * @example E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM
             */
            code_challenge?: string;
            /**
             * @description How it was made; given together with `code_challenge`.
             * @enum {string}
             */
            code_challenge_method?: "S256";
        };
        /** SessionChallenge */
        SessionChallenge: {
            /**
             * @description The challenge's id.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            id: string;
            /**
             * @description Identifies the challenge. Once it is completed, the code is the proof for verify-login, together with the `code_verifier` if there is one.
             * @example 7KQ2-M9XD-0HRT-5VWA-C3EZ-8NPB-4GJS
             */
            code: string;
            /** @description Whether its five minutes are over, completed or not. */
            expired: boolean;
            /** @description Whether it was completed. Never true together with `expired`. */
            completed: boolean;
        };
        /**
         * ChallengeAsker
         * @example {
         *       "address": "203.0.113.7",
         *       "device": "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "expires_at": "2026-01-31T12:00:00.000Z"
         *     }
         */
        ChallengeAsker: {
            /**
             * @description The IP address of the device that asks; "" if it is unknown.
             * @example 203.0.113.7
             */
            address: string;
            /**
             * @description The User-Agent header of the device, at most 256 characters.
             * @example Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0
             */
            device: string;
            /**
             * @description When it asked.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description When the challenge expires.
             * @example 2026-01-31T12:00:00.000Z
             */
            expires_at: string;
        };
        /**
         * ChallengeCode
         * @example {
         *       "code": "7KQ2-M9XD-0HRT-5VWA-C3EZ-8NPB-4GJS"
         *     }
         */
        ChallengeCode: {
            /**
             * @description The code of a session challenge; letter case, hyphens and spaces do not matter.
             * @example 7KQ2-M9XD-0HRT-5VWA-C3EZ-8NPB-4GJS
             */
            code: string;
        };
        /** OwnSession */
        OwnSession: {
            /**
             * @description The session's id.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            id: string;
            /** @description Whether it is the calling session. */
            current: boolean;
            /**
             * @description How the user logged in.
             * @enum {string}
             */
            way: "email_code" | "wallet" | "passkey" | "anonymous" | "session_challenge" | "magic_link" | "issuer";
            /**
             * @description When it began.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description When its tokens were last issued.
             * @example 2026-01-31T12:00:00.000Z
             */
            last_refreshed_at: string;
            /**
             * @description When it ends unless it is refreshed.
             * @example 2026-01-31T12:00:00.000Z
             */
            expires_at: string;
            /**
             * @description The IP address from which it began; "" if it is unknown.
             * @example 203.0.113.7
             */
            address: string;
            /**
             * @description The User-Agent header of the device, at most 256 characters.
             * @example Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0
             */
            device: string;
        };
        /**
         * EndSessions
         * @example {
         *       "session_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f"
         *     }
         */
        EndSessions: {
            /**
             * @description The session to end. Without it, all except the calling one end.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            session_id?: string;
        };
        /**
         * EndedSessions
         * @example {
         *       "ended": 1
         *     }
         */
        EndedSessions: {
            /**
             * @description How many sessions this call ended.
             * @example 1
             */
            ended: number;
        };
        /**
         * WebhookTestMessageData
         * @example {
         *       "webhook_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f"
         *     }
         */
        WebhookTestMessageData: {
            /**
             * @description The webhook.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            webhook_id: string;
        };
        /**
         * WebhookTestMessage
         * @description What `POST /webhooks/test` sends.
         * @example {
         *       "id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "type": "webhook.test",
         *       "version": 1,
         *       "created_at": "2026-01-31T12:00:00.000Z",
         *       "project_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f",
         *       "data": {
         *         "webhook_id": "5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f"
         *       }
         *     }
         */
        WebhookTestMessage: {
            /**
             * @description Of the message.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            id: string;
            /**
             * @example webhook.test
             * @constant
             */
            type: "webhook.test";
            /**
             * @description Of the form of `data`.
             * @example 1
             * @constant
             */
            version: 1;
            /**
             * Format: date-time
             * @description When it was asked for: ISO 8601, UTC.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description The project.
             * @example 5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f
             */
            project_id: string;
            data: components["schemas"]["WebhookTestMessageData"];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
};
export type $defs = Record<string, never>;
export interface operations {
    healthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
        };
    };
    wallets_list: {
        parameters: {
            query: {
                network: components["schemas"]["Network"];
                page?: string;
                page_size?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Wallet"][];
                };
            };
        };
    };
    wallets_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateWallet"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Wallet"];
                };
            };
        };
    };
    wallets_import: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ImportWallet"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Wallet"];
                };
            };
        };
    };
    wallets_change_user_pin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeUserPin"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    wallets_export: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExportWallet"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExportedWallet"];
                };
            };
        };
    };
    wallets_put_under_policies: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutUnderPolicies"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    wallets_get_by_network: {
        parameters: {
            query: {
                network: components["schemas"]["Network"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Wallet"];
                };
            };
        };
    };
    wallets_get_by_id: {
        parameters: {
            query: {
                network: components["schemas"]["Network"];
                id: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Wallet"];
                };
            };
        };
    };
    wallets_get_by_address: {
        parameters: {
            query: {
                network: components["schemas"]["Network"];
                address: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Wallet"];
                };
            };
        };
    };
    wallets_get_by_owner_id: {
        parameters: {
            query: {
                network: components["schemas"]["Network"];
                ownerID?: string;
                owner_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Wallet"];
                };
            };
        };
    };
    wallets_recovery_code: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MakeRecoveryCode"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCode"];
                };
            };
        };
    };
    wallets_recovery_code_remove: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MakeRecoveryCode"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    wallets_passkey_secret: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddPasskeySecret"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    wallets_passkey_secret_remove: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RemovePasskeySecret"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    wallets_user_secrets: {
        parameters: {
            query: {
                network: components["schemas"]["Network"];
                address: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserSecret"][];
                };
            };
        };
    };
    transactions_list: {
        parameters: {
            query?: {
                network?: components["schemas"]["Network"];
                wallet_address?: string;
                status?: string;
                created_from?: string;
                created_until?: string;
                before?: string;
                page_size?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListedTransaction"][];
                };
            };
        };
    };
    transactions_preview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PreviewTransaction"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreviewResult"];
                };
            };
        };
    };
    transactions_preview_bundle: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PreviewBundle"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreviewResult"][];
                };
            };
        };
    };
    transactions_sign: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignTransaction"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RawTransaction"];
                };
            };
            /** @description It waits for approvers: nothing was done yet. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingApproval"];
                };
            };
        };
    };
    transactions_sign_and_send: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SendTransaction"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftOperationResult"];
                };
            };
            /** @description It waits for approvers: nothing was done yet. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingApproval"];
                };
            };
        };
    };
    transactions_batch_sign_and_send: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchTransactions"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftOperationResult"];
                };
            };
            /** @description It waits for approvers: nothing was done yet. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingApproval"];
                };
            };
        };
    };
    transactions_speed_up: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SpeedUpTransaction"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftOperationResult"];
                };
            };
            /** @description It waits for approvers: nothing was done yet. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingApproval"];
                };
            };
        };
    };
    transactions_cancel: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WaitingTransaction"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftOperationResult"];
                };
            };
        };
    };
    transactions_retry: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WaitingTransaction"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftOperationResult"];
                };
            };
        };
    };
    transactions_status_by_hash: {
        parameters: {
            query: {
                network: components["schemas"]["Network"];
                transaction_hash: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TransactionStatus"];
                };
            };
        };
    };
    transactions_status_by_id: {
        parameters: {
            query: {
                id: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TransactionStatusById"];
                };
            };
        };
    };
    transactions_sign_payload: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignPayload"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedPayload"];
                };
            };
            /** @description It waits for approvers: nothing was done yet. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingApproval"];
                };
            };
        };
    };
    transactions_sign_message: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignMessage"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedMessage"];
                };
            };
        };
    };
    transactions_sign_authorization: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignAuthorization"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedAuthorization"];
                };
            };
        };
    };
    transactions_preview_typed_data: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PreviewTypedData"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TypedDataPreview"];
                };
            };
        };
    };
    transactions_sign_typed_data: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignTypedData"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedTypedData"];
                };
            };
            /** @description It waits for approvers: nothing was done yet. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingApproval"];
                };
            };
        };
    };
    nfts_list: {
        parameters: {
            query: {
                network: components["schemas"]["Network"];
                wallet_address?: string;
                contract_address?: string;
                after?: string;
                page?: string;
                page_size?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Nft"][];
                };
            };
        };
    };
    nfts_list_collections: {
        parameters: {
            query: {
                network: components["schemas"]["Network"];
                wallet_address: string;
                page?: string;
                page_size?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftCollection"][];
                };
            };
        };
    };
    nfts_create_collection: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateCollection"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftOperationResult"];
                };
            };
            /** @description It waits for approvers: nothing was done yet. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingApproval"];
                };
            };
        };
    };
    nfts_collection_by_address: {
        parameters: {
            query: {
                contract_address: string;
                network?: components["schemas"]["Network"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftCollection"];
                };
            };
        };
    };
    nfts_upload: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": components["schemas"]["UploadImage"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadedImage"];
                };
            };
        };
    };
    nfts_mint: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MintNft"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftOperationResult"];
                };
            };
            /** @description It waits for approvers: nothing was done yet. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingApproval"];
                };
            };
        };
    };
    nfts_batch_mint: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchMintNfts"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftOperationResult"];
                };
            };
            /** @description It waits for approvers: nothing was done yet. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingApproval"];
                };
            };
        };
    };
    nfts_transfer: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TransferNft"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftOperationResult"];
                };
            };
            /** @description It waits for approvers: nothing was done yet. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingApproval"];
                };
            };
        };
    };
    policies_list: {
        parameters: {
            query: {
                network: components["schemas"]["Network"];
                wallet_address?: string;
                page?: string;
                page_size?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Policy"][];
                };
            };
        };
    };
    policies_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreatePolicy"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
        };
    };
    policies_describe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProposedPolicy"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DescribedProposal"];
                };
            };
        };
    };
    policies_described: {
        parameters: {
            query?: {
                uuid?: string;
                page?: string;
                page_size?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DescribedPolicy"][];
                };
            };
        };
    };
    policies_revoke: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RevokePolicy"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    approvals_list: {
        parameters: {
            query?: {
                page?: string;
                page_size?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"][];
                };
            };
        };
    };
    approvals_begin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BeginDecision"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalRequestOptions"];
                };
            };
        };
    };
    approvals_decide: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DecideApproval"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecidedApproval"];
                };
            };
        };
    };
    webhooks_list: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"][];
                };
            };
        };
    };
    webhooks_create: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateWebhook"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedWebhook"];
                };
            };
        };
    };
    webhooks_update: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateWebhook"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    webhooks_remove: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NamedWebhook"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    webhooks_rotate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RotateWebhookSecret"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotatedWebhookSecret"];
                };
            };
        };
    };
    webhooks_test: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NamedWebhook"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestedWebhook"];
                };
            };
        };
    };
    webhooks_replay: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReplayWebhook"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplayedWebhook"];
                };
            };
        };
    };
    webhooks_deliveries: {
        parameters: {
            query: {
                webhook_id: string;
                state?: "waiting" | "delivered" | "failed";
                page?: string;
                page_size?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"][];
                };
            };
        };
    };
    metadata_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                file: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftMetadata"];
                };
            };
        };
    };
    activity_list: {
        parameters: {
            query: {
                network: components["schemas"]["Network"];
                wallet_address: string;
                before?: string;
                page?: string;
                page_size?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WalletActivityItem"][];
                };
            };
        };
    };
    events_list: {
        parameters: {
            query?: {
                after?: string;
                types?: string;
                limit?: string;
                wait?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventList"];
                };
            };
        };
    };
    tokens_balances: {
        parameters: {
            query: {
                network: components["schemas"]["Network"];
                wallet_address: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenBalance"][];
                };
            };
        };
    };
    tokens_get: {
        parameters: {
            query: {
                network: components["schemas"]["Network"];
                token: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"];
                };
            };
        };
    };
    tokens_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateToken"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftOperationResult"];
                };
            };
            /** @description It waits for approvers: nothing was done yet. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingApproval"];
                };
            };
        };
    };
    tokens_mint: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MintToken"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftOperationResult"];
                };
            };
            /** @description It waits for approvers: nothing was done yet. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingApproval"];
                };
            };
        };
    };
    tokens_transfer: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TransferToken"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftOperationResult"];
                };
            };
            /** @description It waits for approvers: nothing was done yet. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingApproval"];
                };
            };
        };
    };
    tokens_batch_transfer: {
        parameters: {
            query?: never;
            header?: {
                /** @description At most 200 characters, kept for 24 hours. The same key and body again get the first answer, and nothing is done twice; another body gets 409 `idempotency_mismatch`. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchTransferToken"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NftOperationResult"];
                };
            };
            /** @description It waits for approvers: nothing was done yet. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitingApproval"];
                };
            };
        };
    };
    addresses_metadata: {
        parameters: {
            query: {
                network: components["schemas"]["Network"];
                addresses: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: components["schemas"]["PreviewContract"] | null;
                    };
                };
            };
        };
    };
    addresses_lookup_by_name: {
        parameters: {
            query: {
                name: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NameLookup"];
                };
            };
        };
    };
    jwks_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JwkSet"];
                };
            };
        };
    };
    users_verify_login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VerifyLogin"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    users_login_anonymously: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    users_refresh_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RefreshToken"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    users_logout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    users_login_with_wallet: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignInWallet"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WalletChallenge"];
                };
            };
        };
    };
    users_login_with_discoverable_passkey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyRequestOptions"];
                };
            };
        };
    };
    users_login_with_passkey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoginWithPasskey"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyRequestOptions"];
                };
            };
        };
    };
    users_passkeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Passkey"][];
                };
            };
        };
    };
    users_passkey_begin_registration: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyCreationOptions"];
                };
            };
        };
    };
    users_passkey_finish_registration: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegistrationResponseJSON"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyAdded"];
                };
            };
        };
    };
    users_passkey_remove: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasskeyId"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    users_add_email: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Email"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    users_verify_email: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VerifyEmail"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    users_login_with_email: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Email"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserId"];
                };
            };
        };
    };
    users_create_session_challenge: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CodeChallenge"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionChallenge"];
                };
            };
        };
    };
    users_login_with_magic_link: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Email"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionChallenge"];
                };
            };
        };
    };
    users_session_challenge: {
        parameters: {
            query: {
                code: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionChallenge"];
                };
            };
        };
    };
    users_session_challenge_asker: {
        parameters: {
            query: {
                code: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChallengeAsker"];
                };
            };
        };
    };
    users_complete_session_challenge: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChallengeCode"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Success"];
                };
            };
        };
    };
    users_sessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnSession"][];
                };
            };
        };
    };
    users_sessions_end: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EndSessions"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedSessions"];
                };
            };
        };
    };
}
