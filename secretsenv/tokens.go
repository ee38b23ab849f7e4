package secretsenv

import "strings"

// prefix is how tokens of one service begin.
type prefix struct {
	text string
	rest int // bytes that must follow at least
	// common: the text also begins ordinary words (npm_config, hf_home), so a
	// digit must follow somewhere.
	common bool
}

// isToken judges one word. whole: the word is the entire value, which is
// reason to believe a shorter one.
func isToken(word string, whole bool) string {
	if strings.HasPrefix(word, "eyJ") && isJWT(word) {
		return whyJWT
	}
	// The rows that begin like the word stand before the place it would have in
	// the table: for sk-ant-x these are sk-ant- and, further up, sk-.
	low, high := 0, len(prefixes)
	for low < high {
		mid := int(uint(low+high) / 2)
		if prefixes[mid].text < word {
			low = mid + 1
		} else {
			high = mid
		}
	}
	for i := low - 1; i >= 0 && prefixes[i].text[0] == word[0]; i-- {
		p := &prefixes[i]
		rest, ok := strings.CutPrefix(word, p.text)
		if !ok {
			continue
		}
		if len(rest) < p.rest || p.text == packedPEM && isPublicPEM(rest) {
			continue
		}
		if !p.common || hasDigit(rest) && (whole || len(rest) >= 2*p.rest) {
			return whyToken
		}
	}
	return ""
}

// isJWT reports two parts of some length and at least one more. Encrypted
// tokens have five parts, unsigned ones an empty third.
func isJWT(word string) bool {
	head, rest, ok := strings.Cut(word, ".")
	if !ok || len(head) < shortest {
		return false
	}
	body, _, ok := strings.Cut(rest, ".")
	return ok && len(body) >= shortest
}

// packedPEM is base64 of "-----BEGIN ".
const packedPEM = "LS0tLS1CRUdJTi"

// isPublicPEM reports what follows packedPEM in certificates and public keys.
func isPublicPEM(rest string) bool {
	return strings.HasPrefix(rest, "BDRVJU") || strings.HasPrefix(rest, "BQVUJM")
}

// prefixes is sorted by text. Sources: the services' documents and the rules
// of GitHub secret scanning and gitleaks.
var prefixes = []prefix{
	{text: "ABSK", rest: 60},                       // Amazon Bedrock
	{text: "AGE-SECRET-KEY-1", rest: 8},            // age
	{text: "AIza", rest: 20},                       // Google API key, 35 follow
	{text: "AKIA", rest: 16},                       // AWS access key id
	{text: "ASIA", rest: 16},                       // AWS temporary key id
	{text: "ATATT3xFfGF0", rest: 16},               // Atlassian
	{text: "ATCTT3xFfGF0", rest: 16},               // Atlassian
	{text: "CCIPAT_", rest: 16},                    // CircleCI
	{text: "CFPAT-", rest: 16},                     // Contentful
	{text: "EAACEdEose0cBA", rest: 8},              // Facebook
	{text: "EZAK", rest: 50},                       // EasyPost
	{text: "EZTK", rest: 50},                       // EasyPost, test
	{text: "FLWSECK", rest: 8},                     // Flutterwave
	{text: "GOCSPX-", rest: 16},                    // Google OAuth client secret
	{text: packedPEM, rest: 16},                    // base64 of a PEM block
	{text: "NRAK-", rest: 16},                      // New Relic
	{text: "PMAK-", rest: 16},                      // Postman
	{text: "PuTTY-User-Key-File-", rest: 1},        // PuTTY
	{text: "SG.", rest: 16, common: true},          // SendGrid
	{text: "YXBpVmVyc2lvbjog", rest: 40},           // base64 of a kubeconfig
	{text: "abx-", rest: 16, common: true},         // Abacus
	{text: "amzn.mws.", rest: 16},                  // Amazon Marketplace
	{text: "atlasv1.", rest: 16},                   // Terraform Cloud
	{text: "bedrock-api-key-", rest: 16},           // Amazon Bedrock
	{text: "csk-", rest: 24, common: true},         // Cerebras
	{text: "dapi", rest: 20, common: true},         // Databricks
	{text: "dckr_oat_", rest: 8},                   // Docker organisation
	{text: "dckr_pat_", rest: 8},                   // Docker Hub
	{text: "doo_v1_", rest: 16},                    // DigitalOcean OAuth
	{text: "dop_v1_", rest: 16},                    // DigitalOcean
	{text: "dor_v1_", rest: 16},                    // DigitalOcean refresh
	{text: "dp.ct.", rest: 16},                     // Doppler CLI
	{text: "dp.pt.", rest: 16},                     // Doppler
	{text: "dp.st.", rest: 16},                     // Doppler service
	{text: "e2b_", rest: 24, common: true},         // E2B
	{text: "eyJ0eXBlIjogInNlcnZpY2VfYW", rest: 16}, // base64 of a Google service account
	{text: "eyJ0eXBlIjoic2VydmljZV9hY2", rest: 16}, // the same without a space
	{text: "eyJhdXRocyI6", rest: 8},                // base64 of docker's config
	{text: "figd_", rest: 16},                      // Figma
	{text: "fm2_", rest: 40},                       // Fly.io
	{text: "fo1_", rest: 24, common: true},         // Fly.io
	{text: "gho_", rest: 6},                        // GitHub OAuth
	{text: "ghp_", rest: 6},                        // GitHub personal
	{text: "ghr_", rest: 6},                        // GitHub refresh
	{text: "ghs_", rest: 6},                        // GitHub server to server
	{text: "ghu_", rest: 6},                        // GitHub user to server
	{text: "github_pat_", rest: 6},                 // GitHub fine-grained
	{text: "glagent-", rest: 6},                    // GitLab agent
	{text: "glcbt-", rest: 6},                      // GitLab CI job
	{text: "gldt-", rest: 6},                       // GitLab deploy
	{text: "glft-", rest: 6},                       // GitLab feed
	{text: "glimt-", rest: 6},                      // GitLab mail
	{text: "gloas-", rest: 6},                      // GitLab OAuth
	{text: "glpat-", rest: 6},                      // GitLab
	{text: "glptt-", rest: 6},                      // GitLab trigger
	{text: "glrt-", rest: 6},                       // GitLab runner
	{text: "glsa_", rest: 16},                      // Grafana
	{text: "gsk_", rest: 16, common: true},         // Groq
	{text: "hf_", rest: 12, common: true},          // Hugging Face
	{text: "hvb.", rest: 16},                       // Vault batch
	{text: "hvs.", rest: 16},                       // Vault
	{text: "jina_", rest: 24, common: true},        // Jina
	{text: "lin_api_", rest: 12},                   // Linear
	{text: "lsv2_", rest: 16},                      // LangSmith
	{text: "nfp_", rest: 24, common: true},         // Netlify
	{text: "npm_", rest: 12, common: true},         // npm
	{text: "ntn_", rest: 24, common: true},         // Notion
	{text: "nvapi-", rest: 16},                     // NVIDIA
	{text: "ops_eyJ", rest: 16},                    // 1Password service account
	{text: "oy2", rest: 43},                        // NuGet
	{text: "phx_", rest: 24, common: true},         // PostHog
	{text: "pk-lf-", rest: 16},                     // Langfuse
	{text: "pplx-", rest: 16, common: true},        // Perplexity
	{text: "pscale_oauth_", rest: 16},              // PlanetScale
	{text: "pscale_pw_", rest: 16},                 // PlanetScale
	{text: "pscale_tkn_", rest: 16},                // PlanetScale
	{text: "pul-", rest: 20, common: true},         // Pulumi
	{text: "pypi-", rest: 16, common: true},        // PyPI
	{text: "r8_", rest: 16, common: true},          // Replicate
	{text: "rk_live_", rest: 8},                    // Stripe restricted
	{text: "rk_test_", rest: 8},                    // Stripe restricted, test
	{text: "rnd_", rest: 20, common: true},         // Render
	{text: "rubygems_", rest: 16, common: true},    // RubyGems
	{text: "sb_secret_", rest: 16},                 // Supabase
	{text: "sbp_", rest: 24, common: true},         // Supabase
	{text: "secret_", rest: 16, common: true},      // Notion
	{text: "sgp_", rest: 24, common: true},         // Sourcegraph
	{text: "shpat_", rest: 16},                     // Shopify
	{text: "shpca_", rest: 16},                     // Shopify
	{text: "shppa_", rest: 16},                     // Shopify
	{text: "shpss_", rest: 16},                     // Shopify shared secret
	{text: "sk-", rest: 8, common: true},           // OpenAI, Anthropic and others
	{text: "sk-ant-", rest: 8},                     // Anthropic
	{text: "sk-proj-", rest: 8},                    // OpenAI project
	{text: "sk_live_", rest: 8},                    // Stripe
	{text: "sk_test_", rest: 8},                    // Stripe, test
	{text: "sntrys_", rest: 16},                    // Sentry
	{text: "sntryu_", rest: 16},                    // Sentry
	{text: "sq0atp-", rest: 8},                     // Square
	{text: "sq0csp-", rest: 8},                     // Square
	{text: "tskey-", rest: 8},                      // Tailscale
	{text: "tvly-", rest: 16, common: true},        // Tavily
	{text: "vercel_", rest: 16, common: true},      // Vercel
	{text: "whsec_", rest: 16},                     // webhook signing
	{text: "xai-", rest: 16, common: true},         // xAI
	{text: "xapp-", rest: 8},                       // Slack app
	{text: "xoxa-", rest: 6},                       // Slack workspace
	{text: "xoxb-", rest: 6},                       // Slack bot
	{text: "xoxc-", rest: 6},                       // Slack client
	{text: "xoxd-", rest: 6},                       // Slack cookie
	{text: "xoxe-", rest: 6},                       // Slack refresh
	{text: "xoxe.xox", rest: 6},                    // Slack rotated
	{text: "xoxp-", rest: 6},                       // Slack user
	{text: "xoxr-", rest: 6},                       // Slack refresh
	{text: "xoxs-", rest: 6},                       // Slack session
	{text: "ya29.", rest: 20},                      // Google OAuth access
}
