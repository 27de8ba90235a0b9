// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

/// The function `permitTransferFrom` of Permit2, with its types and its domain. It uses up whole nonces, not bits of them.
contract SignatureTransfer {
    struct TokenPermissions {
        address token;
        uint256 amount;
    }

    struct PermitTransferFrom {
        TokenPermissions permitted;
        uint256 nonce;
        uint256 deadline;
    }

    struct SignatureTransferDetails {
        address to;
        uint256 requestedAmount;
    }

    bytes32 private constant TOKEN_PERMISSIONS = keccak256("TokenPermissions(address token,uint256 amount)");
    bytes32 private constant PERMIT_TRANSFER_FROM =
        keccak256(
            "PermitTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline)TokenPermissions(address token,uint256 amount)"
        );

    mapping(address owner => mapping(uint256 nonce => bool used)) private _used;

    function permitTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata details,
        address owner,
        bytes calldata signature
    ) external {
        require(block.timestamp <= permit.deadline, "too late");
        require(details.requestedAmount <= permit.permitted.amount, "too much");
        require(!_used[owner][permit.nonce], "used");
        _used[owner][permit.nonce] = true;
        bytes32 permitted = keccak256(abi.encode(TOKEN_PERMISSIONS, permit.permitted.token, permit.permitted.amount));
        bytes32 message = keccak256(
            abi.encode(PERMIT_TRANSFER_FROM, permitted, msg.sender, permit.nonce, permit.deadline)
        );
        bytes32 digest = MessageHashUtils.toTypedDataHash(_domain(), message);
        require(SignatureChecker.isValidSignatureNow(owner, digest, signature), "not signed");
        require(IERC20(permit.permitted.token).transferFrom(owner, details.to, details.requestedAmount), "not sent");
    }

    function _domain() private view returns (bytes32) {
        return
            keccak256(
                abi.encode(
                    keccak256("EIP712Domain(string name,uint256 chainId,address verifyingContract)"),
                    keccak256("Permit2"),
                    block.chainid,
                    address(this)
                )
            );
    }
}
