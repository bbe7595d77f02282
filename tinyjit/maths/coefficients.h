/* coefficients.h: made by tools/maths_coefficients.sollya. */
#pragma once
/* clang-format off */
#define TJV_1_LN2 0x1.71547652b82fep0
#define TJV_LN2_HIGH 0x1.62e42fefa39efp-1
#define TJV_LN2_LOW 0x1.abc9e3b39803fp-56
#define TJV_LN2_SHORT 0x1.62e42fefa4p-1
#define TJV_LN2_SHORT_LOW -0x1.8432a1b0e2634p-43
#define TJV_SQRT_HALF_BITS INT64_C(0x3fe6a09e667f3bcd)
#define TJV_2_PI 0x1.45f306dc9c883p-1
#define TJV_PI_2_1 0x1.921fb54442d18p0
#define TJV_PI_2_2 0x1.1a62633145c07p-54
#define TJV_PI_2_3 -0x1.f1976b7ed8fbcp-110
#define TJV_2_PI_BITS \
    2734261102, 1313084713, 4230436817, 4113882560, 3680671129, 1011060801, 4266746795, 3736847713, \
    3072618042, 1112396512, 105459434, 164729372, 4263373596, 2972297022, 3900847605, 784024708, \
    3919343654, 3026157121, 965858873, 2203269620, 2625920907, 3187222587, 536385535, 3724908559, \
    4012839307, 1510632735, 1832287951, 667617719, 1330003814, 2657085997, 1965537991, 3957715323, \
    1023883767, 2320667370, 1811636145, 529358088, 1443049542, 4235946923, 4040145952, 2599695901
/* exp: error below 2^-57 */
#define TJV_EXP \
    0x1.000000000000cp-1, \
    0x1.5555555555561p-3, \
    0x1.555555554fdf8p-5, \
    0x1.111111110d63cp-7, \
    0x1.6c16c1860bca9p-10, \
    0x1.a01a01bae2a18p-13, \
    0x1.a01995aaf165ep-16, \
    0x1.71dddfc93d9abp-19, \
    0x1.28b10752f5b94p-22, \
    0x1.af858df98533bp-26
/* expm1(x) / x: error below 2^-61 */
#define TJV_EXPM1 \
    0x1.5555555555559p-3, \
    0x1.5555555555559p-5, \
    0x1.111111110f64bp-7, \
    0x1.6c16c16c14804p-10, \
    0x1.a01a01b0096bcp-13, \
    0x1.a01a01b02fe6ep-16, \
    0x1.71ddf7fd8c6a3p-19, \
    0x1.27e4c610f4643p-22, \
    0x1.af5f4e93b36efp-26, \
    0x1.1f9557f82ff73p-29
/* exp of floats: error below 2^-28 */
#define TJV_EXPF \
    0x1.00000051e4cdep-1, \
    0x1.55548eb67c1cbp-3, \
    0x1.55545da545b7fp-5, \
    0x1.123b7d8d0f0f9p-7, \
    0x1.6db4619329c6ep-10
/* sinh: error below 2^-61 */
#define TJV_SINH \
    0x1.5555555555559p-3, \
    0x1.111111110f652p-7, \
    0x1.a01a01b0053f2p-13, \
    0x1.71ddf80a06edcp-19, \
    0x1.af5f36d451074p-26
/* cosh: error below 2^-69 */
#define TJV_COSH \
    0x1.5555555555558p-5, \
    0x1.6c16c16c15008p-10, \
    0x1.a01a01ad78b38p-16, \
    0x1.27e4cc2237087p-22, \
    0x1.1f8bbe211ca13p-29
/* cosh of floats: error below 2^-33 */
#define TJV_COSHF \
    0x1.5554e5fbb1e8ep-5, \
    0x1.6d4f1541bf87fp-10
/* sinh of floats: error below 2^-37 */
#define TJV_SINHF \
    0x1.555555736a4a8p-3, \
    0x1.1110b1efa5a0fp-7, \
    0x1.a16fb7b70529p-13
/* LOG: error below 2^-59 */
#define TJV_LOG \
    0x1.5555555555592p-1, \
    0x1.999999997ff58p-2, \
    0x1.24924941dc60dp-2, \
    0x1.c71c5218e11f3p-3, \
    0x1.74663bf27dd96p-3, \
    0x1.39a2024d17be4p-3, \
    0x1.2f02bc1b3b88ap-3
/* LOGF: error below 2^-30 */
#define TJV_LOGF \
    0x1.55557a0eb8a15p-1, \
    0x1.995ecd383e219p-2, \
    0x1.31e1298e30bfp-2
#define TJV_POW_FIRST_BITS INT64_C(0x3fe6955555555556)
#define TJV_POW_INVERSES \
    0x1.68p0, 0x1.64p0, 0x1.6p0, 0x1.5cp0, 0x1.58p0, 0x1.54p0, 0x1.54p0, 0x1.5p0, \
    0x1.4cp0, 0x1.48p0, 0x1.44p0, 0x1.4p0, 0x1.4p0, 0x1.3cp0, 0x1.38p0, 0x1.34p0, \
    0x1.34p0, 0x1.3p0, 0x1.2cp0, 0x1.2cp0, 0x1.28p0, 0x1.24p0, 0x1.24p0, 0x1.2p0, \
    0x1.1cp0, 0x1.1cp0, 0x1.18p0, 0x1.18p0, 0x1.14p0, 0x1.1p0, 0x1.1p0, 0x1.0cp0, \
    0x1.0cp0, 0x1.08p0, 0x1.08p0, 0x1.04p0, 0x1.04p0, 0x1p0, 0x1.f8p-1, 0x1.fp-1, \
    0x1.ecp-1, 0x1.e4p-1, 0x1.dcp-1, 0x1.d4p-1, 0x1.dp-1, 0x1.c8p-1, 0x1.cp-1, 0x1.bcp-1, \
    0x1.b4p-1, 0x1.bp-1, 0x1.acp-1, 0x1.a4p-1, 0x1.ap-1, 0x1.9cp-1, 0x1.94p-1, 0x1.9p-1, \
    0x1.8cp-1, 0x1.88p-1, 0x1.84p-1, 0x1.7cp-1, 0x1.78p-1, 0x1.74p-1, 0x1.7p-1, 0x1.6cp-1
#define TJV_POW_LOGS \
    -0x1.5d1bdbf581p-2, -0x1.51aad872ep-2, -0x1.4618bc21c6p-2, -0x1.3a64c55694p-2, -0x1.2e8e2bae12p-2, -0x1.22941fbcf8p-2, \
    -0x1.22941fbcf8p-2, -0x1.1675cababap-2, -0x1.0a324e2739p-2, -0x1.fb9186d5e4p-3, -0x1.e27076e2bp-3, -0x1.c8ff7c79aap-3, \
    -0x1.c8ff7c79aap-3, -0x1.af3c94e80cp-3, -0x1.9525a9cf46p-3, -0x1.7ab890210ep-3, -0x1.7ab890210ep-3, -0x1.5ff3070a7ap-3, \
    -0x1.44d2b6ccb8p-3, -0x1.44d2b6ccb8p-3, -0x1.29552f82p-3, -0x1.0d77e7cd08p-3, -0x1.0d77e7cd08p-3, -0x1.e27076e2bp-4, \
    -0x1.a926d3a4acp-4, -0x1.a926d3a4acp-4, -0x1.6f0d28ae58p-4, -0x1.6f0d28ae58p-4, -0x1.341d7961bcp-4, -0x1.f0a30c0118p-5, \
    -0x1.f0a30c0118p-5, -0x1.77458f633p-5, -0x1.77458f633p-5, -0x1.f829b0e78p-6, -0x1.f829b0e78p-6, -0x1.fc0a8b0fcp-7, \
    -0x1.fc0a8b0fcp-7, 0, 0x1.020565893p-6, 0x1.0415d89e78p-5, 0x1.466aed42ep-5, 0x1.ccb73cddd8p-5, \
    0x1.2aa04a447p-4, 0x1.700d30aeacp-4, 0x1.9335e5d594p-4, 0x1.da72763844p-4, 0x1.1178e8227ep-3, 0x1.23d712a49cp-3, \
    0x1.4913d8333cp-3, 0x1.5bf406b544p-3, 0x1.6f0128b756p-3, 0x1.95a5adcf7p-3, 0x1.a93ed3c8aep-3, 0x1.bd087383bep-3, \
    0x1.e530effe72p-3, 0x1.f991c6cb3cp-3, 0x1.07138604d6p-2, 0x1.1178e8227ep-2, 0x1.1bf99635a7p-2, 0x1.314f1e1d36p-2, \
    0x1.3c25277333p-2, 0x1.4718dc271cp-2, 0x1.522ae0738ap-2, 0x1.5d5bddf596p-2
#define TJV_POW_LOW_LOGS \
    0x1.8d6bdc9c7c238p-44, 0x1.f4bd8db0a7cc1p-44, 0x1.3d82f484c84ccp-46, -0x1.7a71cbcd735dp-44, 0x1.67b1e99b72bd8p-45, \
    0x1.a6976f5eb0963p-44, 0x1.a6976f5eb0963p-44, -0x1.8380e731f55c4p-44, -0x1.c6bee7ef4030ep-47, 0x1.d572aab993c87p-47, \
    0x1.a342c2af0003cp-44, 0x1.7794f689f8434p-45, 0x1.7794f689f8434p-45, 0x1.a4e633fcd9066p-52, 0x1.297137d9f158fp-44, \
    0x1.bdb9072534a58p-45, 0x1.bdb9072534a58p-45, 0x1.8586f183bebf2p-44, 0x1.70cc16135783cp-46, 0x1.70cc16135783cp-46, \
    0x1.5b967f4471dfcp-44, -0x1.cb2cd2ee2f482p-44, -0x1.cb2cd2ee2f482p-44, 0x1.a342c2af0003cp-45, -0x1.563650bd22a9cp-44, \
    -0x1.563650bd22a9cp-44, 0x1.4b4641b664613p-44, 0x1.4b4641b664613p-44, -0x1.1d0929983761p-44, 0x1.d599e83368e91p-45, \
    0x1.d599e83368e91p-45, 0x1.181dce586af09p-44, 0x1.181dce586af09p-44, -0x1.980267c7e09e4p-45, -0x1.980267c7e09e4p-45, \
    -0x1.f1e7cf6d3a69cp-50, -0x1.f1e7cf6d3a69cp-50, 0, 0x1.611d27c8e8417p-44, -0x1.dddc7f461c516p-44, \
    -0x1.c167375bdfd28p-45, 0x1.965c36e09f5fep-44, 0x1.7a48ba8b1cb41p-44, 0x1.c1e8da99ded32p-49, 0x1.3115c3abd47dap-45, \
    0x1.a89401fa71733p-46, 0x1.1ef78ce2d07f2p-45, 0x1.00d238fd3df5cp-46, -0x1.53e43558124c4p-44, -0x1.27023eb68981cp-46, \
    0x1.577390d31ef0fp-44, 0x1.7f22858a0ff6fp-47, -0x1.8724350562169p-45, -0x1.d4bc4595412b6p-45, -0x1.fdbdbb13f7c18p-44, \
    -0x1.90d04cd7cc834p-44, -0x1.e76324e912b17p-44, 0x1.1ef78ce2d07f2p-44, -0x1.1ac89575c2125p-44, -0x1.8e27ad3213cb8p-45, \
    0x1.83b54b606bd5cp-46, 0x1.06c18fb4c14c5p-44, 0x1.ebe708164c759p-45, -0x1.a0b2a08a465dcp-47
/* log(1 + x) / x: error below 2^-68 */
#define TJV_POW_LOG \
    0x1.5555555555557p-2, \
    -0x1.0000000000364p-2, \
    0x1.9999999978097p-3, \
    -0x1.5555550fea412p-3, \
    0x1.24924f68cd271p-3, \
    -0x1.000d5dd8eddb9p-3, \
    0x1.c66db08193015p-4
/* log(1 + x) / x of floats: error below 2^-39 */
#define TJV_POWF_LOG \
    -0x1.fffffff236783p-2, \
    0x1.5555553c84f5bp-2, \
    -0x1.0006c8ac28fc4p-2, \
    0x1.99a900e8c858ep-3
/* SIN: error below 2^-57 */
#define TJV_SIN \
    -0x1.5555555555548p-3, \
    0x1.111111110f75dp-7, \
    -0x1.a01a019bf222ep-13, \
    0x1.71de355f05599p-19, \
    -0x1.ae5e5471f54e4p-26, \
    0x1.5d8e3511cc1aap-33
/* SINF: error below 2^-27 */
#define TJV_SINF \
    -0x1.555545234c336p-3, \
    0x1.110739adedb57p-7, \
    -0x1.99436cf95d427p-13
/* COS: error below 2^-64 */
#define TJV_COS \
    0x1.555555555554cp-5, \
    -0x1.6c16c16c15221p-10, \
    0x1.a01a019cbfa2cp-16, \
    -0x1.27e4f812e395ep-22, \
    0x1.1ee9f16cc7818p-29, \
    -0x1.8fb13b550fc5cp-37
/* COSF: error below 2^-33 */
#define TJV_COSF \
    0x1.55554ab1e6b41p-5, \
    -0x1.6c0c8a5fa9ac9p-10, \
    0x1.9a01f2e09974bp-16
/* ATAN: error below 2^-59 */
#define TJV_ATAN \
    -0x1.555555555553dp-2, \
    0x1.999999999586dp-3, \
    -0x1.24924922ad6edp-3, \
    0x1.c71c70e613401p-4, \
    -0x1.745cf8dcacc2bp-4, \
    0x1.3b11191f75b15p-4, \
    -0x1.10ebb86a77536p-4, \
    0x1.df0f4dc52ce51p-5, \
    -0x1.9cd2cc3ba1b33p-5, \
    0x1.37d5d6cdc6bcep-5, \
    -0x1.256ae1c6bf306p-6
/* ATANF: error below 2^-30 */
#define TJV_ATANF \
    -0x1.55554927a7537p-2, \
    0x1.999195dfe1468p-3, \
    -0x1.23b51e3cdc40ap-3, \
    0x1.b1ebe82e7c50cp-4, \
    -0x1.f1ec0b6fc8076p-5
#define TJV_PI_4_HIGH 0x1.921fb54442d18p-1
#define TJV_PI_4_LOW 0x1.1a62633145c07p-55
/* ASIN: error below 2^-59 */
#define TJV_ASIN \
    0x1.5555555555577p-3, \
    0x1.333333332e13p-4, \
    0x1.6db6db721283bp-5, \
    0x1.f1c71a94e2c9dp-6, \
    0x1.6e8bdee29a32cp-6, \
    0x1.1c49f0292dd2dp-6, \
    0x1.ca1f931592923p-7, \
    0x1.7585556c51ef9p-7, \
    0x1.613dd04bc5111p-7, \
    0x1.e5e0b9e6d08ecp-9, \
    0x1.63a34066e0411p-6, \
    -0x1.5807bf67ddcdfp-6, \
    0x1.0b4a22a7b98d4p-5
/* ASINF: error below 2^-31 */
#define TJV_ASINF \
    0x1.55554c5f0cd34p-3, \
    0x1.33387cef5bcebp-4, \
    0x1.6caec4dd8c88bp-5, \
    0x1.049216b3dd4f8p-5, \
    0x1.d9184d4d2485cp-7, \
    0x1.335876893495fp-5
/* x^(-1/3): error below 2^-20 */
#define TJV_CBRT \
    0x1.e13957ff5cf84p0, \
    -0x1.fc41ad4350cffp0, \
    0x1.fa1b93ae5d631p0, \
    -0x1.45faa80d0e018p0, \
    0x1.01048e13a573ep-1, \
    -0x1.c43bce94a87cdp-4, \
    0x1.546843a015c47p-7
#define TJV_CBRT2 0x1.965fea53d6e3dp-1
#define TJV_CBRT4 0x1.428a2f98d728bp-1
#define TJV_LOG2E_HIGH 0x1.71547652b82fep0
#define TJV_LOG2E_LOW 0x1.777d0ffda0d24p-56
#define TJV_LOG10E_HIGH 0x1.bcb7b1526e50ep-2
#define TJV_LOG10E_LOW 0x1.95355baaafad3p-57
#define TJV_LOG10_2_SHORT 0x1.34413509f8p-2
#define TJV_LOG10_2_SHORT_LOW -0x1.80433b83b532ap-44
#define TJV_ERF_HIGH 0x1.06eba8214db69p-3
#define TJV_ERF_LOW -0x1.ca38add6025p-57
/* ERF: error below 2^-57 */
#define TJV_ERF \
    -0x1.812746b0379c4p-2, \
    0x1.ce2f21a03e588p-4, \
    -0x1.b82ce30f7e269p-6, \
    0x1.565bcc09cabc1p-8, \
    -0x1.c02d53572acfcp-11, \
    0x1.f98e371963dadp-14, \
    -0x1.f22e16a9cdbe9p-17, \
    0x1.8b8f56c5aa30ap-20
#define TJV_ERFC_LOW -0x1.a6a4dfb16229p-55
/* erfc: error below 2^-59 */
#define TJV_ERFC \
    0x1.3ba5916e9fd7fp0, \
    -0x1.1df1ad154a28ep-3, \
    0x1.f7f5df66fd74ep-7, \
    0x1.16ecefcfa530ep-4, \
    -0x1.9ddb23c3e8cfp-4, \
    0x1.7fee004e140e1p-4, \
    -0x1.0fb06dfe502a7p-4, \
    0x1.3079edf63528ap-5, \
    -0x1.096238838647ap-6, \
    0x1.49c672a39423ap-8, \
    -0x1.8d4a9b8278126p-11, \
    -0x1.a1df404f8b7c7p-13, \
    0x1.3be05e0f85564p-13, \
    -0x1.99555b8f0a0f2p-16, \
    -0x1.788b4c3e3b66ap-17, \
    0x1.7ef9587adaa9bp-18, \
    0x1.3b42305cf325ep-22, \
    -0x1.b82ab85d6b785p-21, \
    0x1.4120464b65dcdp-24, \
    0x1.bcb77a445d271p-24, \
    -0x1.33f1a6e8000e7p-26, \
    -0x1.4ef8ac84cdc42p-27, \
    0x1.f2aa7b7289e99p-30
/* slope of erfc: error below 2^-6 */
#define TJV_ERFC_SLOPE \
    -0x1.14000bb8f32e7p-3, \
    0x1.588e271c4462fp-4, \
    0x1.99cd3ee928205p-4, \
    -0x1.81150103aad66p-1, \
    0x1.a08ab5003e1c8p-1
/* expm1(x) / x of floats: error below 2^-31 */
#define TJV_EXPM1F \
    0x1.00000027eec33p-1, \
    0x1.55555589195ecp-3, \
    0x1.5554ada6705bdp-5, \
    0x1.11108f77d63dap-7, \
    0x1.6d74b56b55d0fp-10, \
    0x1.a1a1993db1af6p-13
/* ERFF: error below 2^-36 */
#define TJV_ERFF \
    -0x1.81274681c7ffdp-2, \
    0x1.ce2ef8a367072p-4, \
    -0x1.b82118053b04p-6, \
    0x1.54dec5be31b34p-8, \
    -0x1.940ebd322c9e7p-11
/* erfc of floats: error below 2^-33 */
#define TJV_ERFCF \
    0x1.3ba5916e7e93cp0, \
    -0x1.1df1acdf0fbbp-3, \
    0x1.f7f5e96c4eb89p-7, \
    0x1.16ecda69c3e68p-4, \
    -0x1.9ddb4475722dcp-4, \
    0x1.7fef35672c484p-4, \
    -0x1.0faf237a412cep-4, \
    0x1.306adeb4162dcp-5, \
    -0x1.097bc85ec814bp-6, \
    0x1.4b3a8a4785d6dp-8, \
    -0x1.84fa94e664089p-11, \
    -0x1.ea33036a98664p-13, \
    0x1.1004edf7d2881p-13
#define TJV_1_LN2F 0x1.715476p0f
#define TJV_LN2F_HIGH 0x1.62e43p-1f
#define TJV_LN2F_LOW -0x1.05c61p-29f
#define TJV_LN2F_SHORT 0x1.62e4p-1f
#define TJV_LN2F_SHORT_LOW 0x1.7f7d1cp-20f
#define TJV_2_PIF 0x1.45f306p-1f
#define TJV_PIF_2_1 0x1.921fb6p0f
#define TJV_PIF_2_2 -0x1.777a5cp-25f
#define TJV_PIF_2_3 -0x1.ee59dap-50f
/* exp in float: error below 2^-27 */
#define TJV_EXP_SINGLE \
    0x1.fffff6p-2f, \
    0x1.55548ep-3f, \
    0x1.555c5ep-5f, \
    0x1.123be8p-7f, \
    0x1.681d3p-10f
/* log(1 + x) / x in float: error below 2^-27 */
#define TJV_LOG_SINGLE \
    0x1.55554ap-2f, \
    -0x1.00022p-2f, \
    0x1.99a5acp-3f, \
    -0x1.54789p-3f, \
    0x1.226cc8p-3f, \
    -0x1.0cdef6p-3f, \
    0x1.07d95cp-3f, \
    -0x1.4208c8p-4f
/* sin in float: error below 2^-27 */
#define TJV_SIN_SINGLE \
    -0x1.555546p-3f, \
    0x1.110778p-7f, \
    -0x1.9953fep-13f
/* cos in float: error below 2^-33 */
#define TJV_COS_SINGLE \
    0x1.55554ap-5f, \
    -0x1.6c0c3p-10f, \
    0x1.99ebaap-16f
